// DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or not reachable.
import { pods } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

const tolerationSeconds = 300;
const taintKeys = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

export function createDefaultTolerationSeconds(): AdmissionPlugin {
  return {
    name: 'DefaultTolerationSeconds',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const spec = requested(request, pods)?.spec;
      if (spec === undefined) return;
      const present = spec.tolerations ?? [];
      const missing = taintKeys.filter(
        (key) =>
          !present.some(
            (t) =>
              (t.key === key || (t.key ?? '') === '') &&
              (t.effect === 'NoExecute' || (t.effect ?? '') === ''),
          ),
      );
      if (missing.length === 0) return;
      spec.tolerations = [
        ...present,
        ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds })),
      ];
    },
  };
}
