// The kind PriorityClass.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { type FieldError, forbidden } from '../../../apimachinery/field-error.ts';
import { bool, nameOf, num, setDefault, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { unchanged } from '../../../apimachinery/validation/checks.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const highestUserPriority = 1000000000;
/** The only classes whose names may begin with `system-`, and their values. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-node-critical': 2000001000,
  'system-cluster-critical': 2000000000,
};

function validate(o: JsonObject): FieldError[] {
  const name = nameOf(o);
  if (!name.startsWith('system-'))
    return num(o['value']) > highestUserPriority
      ? [forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`)]
      : [];
  const refused = (why: string): FieldError[] => [
    forbidden(
      'metadata.name',
      `priority class names with 'system-' prefix are reserved for system use only. error: ${why}`,
    ),
  ];
  if (!Object.hasOwn(systemClasses, name)) return refused(`${name} is not a known system priority class`);
  if (num(o['value']) !== systemClasses[name])
    return refused(`value of ${name} PriorityClass must be ${systemClasses[name]}`);
  return bool(o['globalDefault']) ? refused(`globalDefault of ${name} PriorityClass must be false`) : [];
}

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
      validate,
      validateUpdate: (o, old) => [
        ...(num(o['value']) === num(old['value'])
          ? []
          : [forbidden('value', 'may not be changed in an update.')]),
        ...unchanged('preemptionPolicy', o['preemptionPolicy'], old['preemptionPolicy']),
      ],
    },
  },
};
