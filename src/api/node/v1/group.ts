// The kind RuntimeClass.
import { str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

export const nodeV1: GroupBehaviours = {
  runtimeclasses: { row: (o, now) => [nameCell(o), str(o['handler']), ageCell(o, now)] },
};
