// podtolerationrestriction.admission.k8s.io/v1alpha1 Configuration: what pods tolerate where their namespace does not say.
import { notSupported } from '../../apimachinery/field-error.ts';
import type { Toleration } from '../generated/types/core-v1.ts';
import { readAdmissionConfig } from './admission-configuration.ts';

const toleration = {
  key: 'string',
  operator: 'string',
  value: 'string',
  effect: 'string',
  tolerationSeconds: 'number',
} as const;
const operators = ['Equal', 'Exists'];

interface Lists {
  readonly default: readonly Toleration[];
  readonly whitelist: readonly Toleration[];
}

/** Throws what is wrong with it. */
export function readClusterTolerations(config: unknown): Lists {
  if (config === undefined || config === null) return { default: [], whitelist: [] };
  return readAdmissionConfig<Lists>(config, {
    apiVersions: ['podtolerationrestriction.admission.k8s.io/v1alpha1'],
    kind: 'Configuration',
    shape: { default: [toleration], whitelist: [toleration] },
    make: (read) => ({
      default: (read['default'] ?? []) as unknown as Toleration[],
      whitelist: (read['whitelist'] ?? []) as unknown as Toleration[],
    }),
    faults: (lists) =>
      (['default', 'whitelist'] as const).flatMap((name) =>
        lists[name].flatMap(({ operator = 'Equal' }, i) =>
          operators.includes(operator) ? [] : [notSupported(`${name}[${i}].operator`, operator, operators)],
        ),
      ),
  });
}
