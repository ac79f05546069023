// ExtendedResourceToleration: a pod that asks for a device tolerates the taint that keeps its nodes for such pods.
import { pods } from '../../api/generated/resources.ts';
import type { Toleration } from '../../api/generated/types/core-v1.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

/** Upstream's IsExtendedResourceName: of somebody else's domain, and no quota's name. */
const isExtended = (name: string): boolean =>
  name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');

export function createExtendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const spec = requested(request, pods)?.spec;
      if (spec === undefined) return;
      const asked = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap((container) =>
        Object.keys(container.resources?.requests ?? {}),
      );
      for (const key of [...new Set(asked.filter(isExtended))].sort()) {
        const toleration: Toleration = { key, operator: 'Exists', effect: 'NoSchedule' };
        const others = (spec.tolerations ?? []).filter(
          (t) => !(t.key === key && t.operator === 'Exists' && t.effect === 'NoSchedule' && !t.value),
        );
        if (others.length === (spec.tolerations ?? []).length) spec.tolerations = [...others, toleration];
      }
    },
  };
}
