// NodeUnschedulable: a cordoned node takes only pods that tolerate the cordon's taint.
import { toleratesTaint } from '../../component-helpers/taints.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/status.ts';

const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export const nodeUnschedulable: Plugin = {
  name: 'NodeUnschedulable',
  requeueOn: ['NodeAdd', 'NodeUpdateNodeTaint'],
  filter: (_state, pod, node) => {
    if (!node.node.spec.unschedulable) return undefined;
    const tolerated = (pod.spec.tolerations ?? []).some((toleration) => toleratesTaint(toleration, cordon));
    return tolerated ? undefined : unresolvable('node(s) were unschedulable');
  },
};
