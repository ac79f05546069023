// The kind PriorityClass.
import { forbidden } from '../../../apimachinery/field-error.ts';
import { bool, nameOf, num, setDefault, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { unchanged } from '../../../apimachinery/validation/checks.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const highestUserPriority = 1000000000;

export const schedulingV1: GroupBehaviours = {
  priorityclasses: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      num(o['value']),
      bool(o['globalDefault']),
      ageCell(o, now),
      str(o['preemptionPolicy']),
    ],
    strategy: {
      applyDefaults: (o) => setDefault(o, 'preemptionPolicy', 'PreemptLowerPriority'),
      validate: (o) =>
        num(o['value']) > highestUserPriority && !nameOf(o).startsWith('system-')
          ? [forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`)]
          : [],
      validateUpdate: (o, old) => [
        ...(num(o['value']) === num(old['value'])
          ? []
          : [forbidden('value', 'may not be changed in an update.')]),
        ...unchanged('preemptionPolicy', o['preemptionPolicy'], old['preemptionPolicy']),
      ],
    },
  },
};
