// NodeUnschedulable: a cordoned node takes only pods that tolerate the cordon's taint.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { toleratesTaint } from '../../component-helpers/taints.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/status.ts';

const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

const toleratesCordon = (pod: Pod): boolean =>
  (pod.spec.tolerations ?? []).some((toleration) => toleratesTaint(toleration, cordon));

export const nodeUnschedulable: Plugin = {
  name: 'NodeUnschedulable',
  requeueOn: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeTaint'],
      helps: (_pod, { node, oldNode }) =>
        node === undefined ||
        (!node.spec.unschedulable && (oldNode === undefined || oldNode.spec.unschedulable === true)),
    },
    { on: ['UnschedulablePodUpdatePodToleration'], helps: (pod) => toleratesCordon(pod) },
  ],
  filter: (_state, pod, node) => {
    if (!node.node.spec.unschedulable) return undefined;
    return toleratesCordon(pod) ? undefined : unresolvable('node(s) were unschedulable');
  },
};
