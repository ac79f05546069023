// The kind PriorityClass.
import { bool, num, setDefault, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

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
    strategy: { applyDefaults: (o) => setDefault(o, 'preemptionPolicy', 'PreemptLowerPriority') },
  },
};
