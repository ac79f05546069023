// The kind PodDisruptionBudget.
import { invalid } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { labelSelector } from '../../../apimachinery/validation/checks.ts';
import { intOrPercent } from '../../core/v1/validate-workload.ts';
import type { PodDisruptionBudget } from '../../generated/types/policy-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const orNA = (value: unknown): string => (value === undefined || value === null ? 'N/A' : String(value));

export const policyV1: GroupBehaviours<{ poddisruptionbudgets: PodDisruptionBudget }> = {
  poddisruptionbudgets: {
    hasGeneration: true,
    strategy: {
      validate(o) {
        const { minAvailable, maxUnavailable, selector } = o.spec ?? {};
        const errors =
          minAvailable !== undefined && maxUnavailable !== undefined
            ? [invalid('spec', o.spec ?? {}, 'minAvailable and maxUnavailable cannot be both set')]
            : [];
        return [
          ...errors,
          ...intOrPercent('spec.minAvailable', minAvailable, true),
          ...intOrPercent('spec.maxUnavailable', maxUnavailable, true),
          ...labelSelector('spec.selector', selector),
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
