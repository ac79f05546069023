// DefaultTolerationSeconds: pods stay five minutes, or as long as flags say, on a node that is not ready or not reachable.
import { pods } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

export const defaultTolerationSeconds = 300;

/** Of nodes that are not ready, and of those that are not reachable. */
export interface TolerationSeconds {
  readonly notReady?: number | undefined;
  readonly unreachable?: number | undefined;
}

export function createDefaultTolerationSeconds({
  notReady = defaultTolerationSeconds,
  unreachable = defaultTolerationSeconds,
}: TolerationSeconds = {}): AdmissionPlugin {
  const wanted = [
    { key: 'node.kubernetes.io/not-ready', tolerationSeconds: notReady },
    { key: 'node.kubernetes.io/unreachable', tolerationSeconds: unreachable },
  ];
  return {
    name: 'DefaultTolerationSeconds',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const spec = requested(request, pods)?.spec;
      if (spec === undefined) return;
      const present = spec.tolerations ?? [];
      const missing = wanted.filter(
        ({ key }) =>
          !present.some(
            (t) =>
              (t.key === key || (t.key ?? '') === '') &&
              (t.effect === 'NoExecute' || (t.effect ?? '') === ''),
          ),
      );
      if (missing.length === 0) return;
      spec.tolerations = [
        ...present,
        ...missing.map((one) => ({ ...one, operator: 'Exists', effect: 'NoExecute' })),
      ];
    },
  };
}
