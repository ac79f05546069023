// TaintNodesByCondition: a new node takes no pods before its kubelet says it is ready.
import { nodes } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export function createTaintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    operations: ['CREATE'],
    admit(request) {
      const node = requested(request, nodes);
      if (node === undefined) return;
      node.spec ??= {};
      const present = node.spec.taints ?? [];
      if (present.some((t) => t.key === taint.key && t.effect === taint.effect)) return;
      node.spec.taints = [...present, { ...taint }];
    },
  };
}
