// The kind PodDisruptionBudget.
import { invalid } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { labelSelector, nonNegative, oneOf } from '../../../apimachinery/validation/checks.ts';
import { intOrPercent } from '../../core/v1/validate-workload.ts';
import type { PodDisruptionBudget } from '../../generated/types/policy-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const orNA = (value: unknown): string => (value === undefined || value === null ? 'N/A' : String(value));

const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export const policyV1: GroupBehaviours<{ poddisruptionbudgets: PodDisruptionBudget }> = {
  poddisruptionbudgets: {
    hasGeneration: true,
    strategy: {
      allowUnconditionalUpdate: false,
      validateUpdate: (o, _old, { subresource }) =>
        subresource === 'status'
          ? counts.flatMap((name) => nonNegative(`status.${name}`, o.status?.[name]))
          : [],
      validate(o) {
        const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = o.spec ?? {};
        const errors =
          minAvailable !== undefined && maxUnavailable !== undefined
            ? [invalid('spec', o.spec ?? {}, 'minAvailable and maxUnavailable cannot be both set')]
            : [];
        return [
          ...errors,
          ...intOrPercent('spec.minAvailable', minAvailable, true),
          ...intOrPercent('spec.maxUnavailable', maxUnavailable, true),
          ...labelSelector('spec.selector', selector),
          ...(unhealthyPodEvictionPolicy === undefined
            ? []
            : oneOf('spec.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, [
                'AlwaysAllow',
                'IfHealthyBudget',
              ])),
        ];
      },
    },
    row: (o, now) => [
      nameCell(o),
      orNA(o.spec?.minAvailable),
      orNA(o.spec?.maxUnavailable),
      o.status?.disruptionsAllowed ?? 0,
      ageCell(o, now),
    ],
  },
};
