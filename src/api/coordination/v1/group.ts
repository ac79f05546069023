// The kind Lease.
import { spec, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

export const coordinationV1: GroupBehaviours = {
  leases: {
    row: (o, now) => [nameCell(o), str(spec(o)['holderIdentity']), ageCell(o, now)],
    strategy: { allowCreateOnUpdate: true, allowUnconditionalUpdate: false },
  },
};
