// NodeResourcesBalancedAllocation: prefers nodes whose cpu and memory fill up evenly.
import { stateKey } from '../framework/cycle-state.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { type Resources, requestOf } from '../framework/resources.ts';
import { skip } from '../framework/status.ts';

const key = stateKey<Resources>('NodeResourcesBalancedAllocation');
const fraction = (used: number, capacity: number): number =>
  capacity <= 0 ? 1 : Math.min(1, used / capacity);

export const nodeResourcesBalancedAllocation: Plugin = {
  name: 'NodeResourcesBalancedAllocation',
  preScore: (state, pod) => {
    const request = requestOf(pod);
    // A best-effort pod changes no balance.
    if (request.milliCpu === 0 && request.memory === 0) return skip;
    state.write(key, request);
    return undefined;
  },
  score: (state, _pod, node) => {
    const request = state.read(key);
    if (!request) return 0;
    const cpu = fraction(node.requested.milliCpu + request.milliCpu, node.allocatable.milliCpu);
    const memory = fraction(node.requested.memory + request.memory, node.allocatable.memory);
    // With two fractions the standard deviation is half their distance.
    return Math.trunc((1 - Math.abs(cpu - memory) / 2) * maxNodeScore);
  },
};
