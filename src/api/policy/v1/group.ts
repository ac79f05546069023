// The kind PodDisruptionBudget.
import { invalid } from '../../../apimachinery/field-error.ts';
import { num, spec, status } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { labelSelector } from '../../../apimachinery/validation/checks.ts';
import { intOrPercent } from '../../core/v1/validate-workload.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const orNA = (value: unknown): string => (value === undefined || value === null ? 'N/A' : String(value));

export const policyV1: GroupBehaviours = {
  poddisruptionbudgets: {
    hasGeneration: true,
    strategy: {
      validate(o) {
        const { minAvailable, maxUnavailable, selector } = spec(o);
        const errors =
          minAvailable !== undefined && maxUnavailable !== undefined
            ? [invalid('spec', spec(o), 'minAvailable and maxUnavailable cannot be both set')]
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
      orNA(spec(o)['minAvailable']),
      orNA(spec(o)['maxUnavailable']),
      num(status(o)['disruptionsAllowed']),
      ageCell(o, now),
    ],
  },
};
