// NodeAffinity: nodeSelector and required node affinity filter; preferred terms score.
import type { Pod, PreferredSchedulingTerm } from '../../api/generated/types/core-v1.ts';
import {
  matchesNodeSelector,
  matchesRequiredNodeAffinity,
  preferenceOf,
} from '../../component-helpers/node-affinity.ts';
import type { PluginArgs } from '../config/plugin-args.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { skip, unresolvable } from '../framework/status.ts';

const key = stateKey<readonly PreferredSchedulingTerm[]>('NodeAffinity');

/** Names pinned by metadata.name terms, when every term pins one: DaemonSet pods are looked up, not searched for. */
function pinnedNames(pod: Pod): Set<string> | undefined {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (!terms || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const term of terms) {
    const pin = (term.matchFields ?? []).find(
      (field) => field.key === 'metadata.name' && field.operator === 'In',
    );
    if (!pin) return undefined;
    for (const name of pin.values ?? []) names.add(name);
  }
  return names;
}

export const nodeAffinity = ({ addedAffinity }: PluginArgs['NodeAffinity'] = {}): Plugin => ({
  name: 'NodeAffinity',
  requeueOn: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeLabel'],
      helps: (pod, { node, oldNode }) =>
        node === undefined ||
        (matchesRequiredNodeAffinity(pod, node) &&
          (oldNode === undefined || !matchesRequiredNodeAffinity(pod, oldNode))),
    },
  ],
  preFilter: (_state, pod) => {
    const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    if (!required && !added && Object.keys(pod.spec.nodeSelector ?? {}).length === 0) return { status: skip };
    const nodeNames = pinnedNames(pod);
    return nodeNames ? { nodeNames } : undefined;
  },
  filter: (_state, pod, { node }) => {
    const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    if (added !== undefined && !matchesNodeSelector(added, node))
      return unresolvable("node(s) didn't match scheduler-enforced node affinity");
    return matchesRequiredNodeAffinity(pod, node)
      ? undefined
      : unresolvable("node(s) didn't match Pod's node affinity/selector");
  },
  preScore: (state, pod) => {
    const preferred = [
      ...(addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ];
    if (preferred.length === 0) return skip;
    state.write(key, preferred);
    return undefined;
  },
  score: (state, _pod, node) => preferenceOf(state.read(key) ?? [], node.node),
  normalizeScores: (_state, _pod, scores) => {
    const most = Math.max(0, ...scores.map((s) => s.score));
    if (most > 0) for (const s of scores) s.score = Math.trunc((maxNodeScore * s.score) / most);
  },
});
