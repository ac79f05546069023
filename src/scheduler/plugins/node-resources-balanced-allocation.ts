// NodeResourcesBalancedAllocation: prefers nodes whose resources, usually cpu and memory, fill up evenly.
import type { PluginArgs } from '../config/plugin-args.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { amountOf, type Resources, requestOf } from '../framework/resources.ts';
import { skip } from '../framework/status.ts';

const key = stateKey<Resources>('NodeResourcesBalancedAllocation');
const fraction = (used: number, capacity: number): number =>
  capacity <= 0 ? 1 : Math.min(1, used / capacity);

/** The standard deviation; of two it is half their distance. */
function deviation(fractions: readonly number[]): number {
  const [a = 0, b = 0] = fractions;
  if (fractions.length < 2) return 0;
  if (fractions.length === 2) return Math.abs(a - b) / 2;
  const mean = fractions.reduce((sum, one) => sum + one, 0) / fractions.length;
  return Math.sqrt(fractions.reduce((sum, one) => sum + (one - mean) ** 2, 0) / fractions.length);
}

export const nodeResourcesBalancedAllocation = ({
  resources,
}: PluginArgs['NodeResourcesBalancedAllocation']): Plugin => {
  const names = resources.map(({ name }) => name);
  return {
    name: 'NodeResourcesBalancedAllocation',
    preScore: (state, pod) => {
      const request = requestOf(pod);
      // A best-effort pod changes no balance.
      if (names.every((name) => amountOf(request, name) === 0)) return skip;
      state.write(key, request);
      return undefined;
    },
    score: (state, _pod, { allocatable, requested }) => {
      const request = state.read(key);
      if (!request) return 0;
      const fractions: number[] = [];
      for (const name of names) {
        const capacity = amountOf(allocatable, name);
        // What a node has not is out of no balance, but cpu and memory every node has.
        if (capacity === 0 && name !== 'cpu' && name !== 'memory') continue;
        fractions.push(fraction(amountOf(requested, name) + amountOf(request, name), capacity));
      }
      return Math.trunc((1 - deviation(fractions)) * maxNodeScore);
    },
  };
};
