// The kind PriorityClass.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { type FieldError, forbidden } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { unchanged } from '../../../apimachinery/validation/checks.ts';
import type { PriorityClass } from '../../generated/types/scheduling-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const highestUserPriority = 1000000000;
/** The only classes whose names may begin with `system-`, and their values. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-node-critical': 2000001000,
  'system-cluster-critical': 2000000000,
};

function validate(o: Decoded<PriorityClass>): FieldError[] {
  const name = o.metadata?.name ?? '';
  if (!name.startsWith('system-'))
    return (o.value ?? 0) > highestUserPriority
      ? [forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`)]
      : [];
  const refused = (why: string): FieldError[] => [
    forbidden(
      'metadata.name',
      `priority class names with 'system-' prefix are reserved for system use only. error: ${why}`,
    ),
  ];
  if (!Object.hasOwn(systemClasses, name)) return refused(`${name} is not a known system priority class`);
  if ((o.value ?? 0) !== systemClasses[name])
    return refused(`value of ${name} PriorityClass must be ${systemClasses[name]}`);
  return o.globalDefault === true ? refused(`globalDefault of ${name} PriorityClass must be false`) : [];
}

export const schedulingV1: GroupBehaviours<{ priorityclasses: PriorityClass }> = {
  priorityclasses: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      o.value ?? 0,
      o.globalDefault === true,
      ageCell(o, now),
      o.preemptionPolicy ?? '',
    ],
    strategy: {
      applyDefaults: (o) => (o.preemptionPolicy ??= 'PreemptLowerPriority'),
      validate,
      validateUpdate: (o, old) => [
        ...((o.value ?? 0) === (old.value ?? 0)
          ? []
          : [forbidden('value', 'may not be changed in an update.')]),
        ...unchanged('preemptionPolicy', o.preemptionPolicy, old.preemptionPolicy),
      ],
    },
  },
};
