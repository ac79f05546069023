// The kind PodDisruptionBudget.
import { num, spec, status } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const orNA = (value: unknown): string => (value === undefined || value === null ? 'N/A' : String(value));

export const policyV1: GroupBehaviours = {
  poddisruptionbudgets: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      orNA(spec(o)['minAvailable']),
      orNA(spec(o)['maxUnavailable']),
      num(status(o)['disruptionsAllowed']),
      ageCell(o, now),
    ],
  },
};
