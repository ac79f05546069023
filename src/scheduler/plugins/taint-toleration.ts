// TaintToleration: NoSchedule and NoExecute taints filter; PreferNoSchedule taints count against a node.
import type { Node, Pod, Taint, Toleration } from '../../api/generated/types/core-v1.ts';
import { findUntoleratedTaint, toleratesTaint } from '../../component-helpers/taints.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { skip, unresolvable } from '../framework/status.ts';

const key = stateKey<readonly Toleration[]>('TaintToleration');
const hard = (taint: Taint): boolean => taint.effect === 'NoSchedule' || taint.effect === 'NoExecute';

const isTolerated = ({ spec }: Pod, { spec: { taints = [] } }: Node): boolean =>
  findUntoleratedTaint(taints.filter(hard), spec.tolerations ?? []) === undefined;

export const taintToleration: Plugin = {
  name: 'TaintToleration',
  requeueOn: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      helps: (pod, { node, oldNode }) =>
        node === undefined ||
        (isTolerated(pod, node) && (oldNode === undefined || !isTolerated(pod, oldNode))),
    },
    'UnschedulablePodUpdatePodToleration',
  ],
  filter: (_state, pod, node) => {
    return isTolerated(pod, node.node) ? undefined : unresolvable('node(s) had untolerated taint(s)');
  },
  preScore: (state, pod, nodes) => {
    if (nodes.every((node) => (node.node.spec.taints ?? []).every(hard))) return skip;
    state.write(
      key,
      (pod.spec.tolerations ?? []).filter((t) => !t.effect || t.effect === 'PreferNoSchedule'),
    );
    return undefined;
  },
  score: (state, _pod, node) => {
    const tolerations = state.read(key) ?? [];
    const soft = (node.node.spec.taints ?? []).filter((taint) => taint.effect === 'PreferNoSchedule');
    return soft.filter((taint) => !tolerations.some((toleration) => toleratesTaint(toleration, taint)))
      .length;
  },
  normalizeScores: (_state, _pod, scores) => {
    const most = Math.max(0, ...scores.map((s) => s.score));
    for (const s of scores)
      s.score = most === 0 ? maxNodeScore : maxNodeScore - Math.floor((maxNodeScore * s.score) / most);
  },
};
