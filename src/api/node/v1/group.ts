// The kind RuntimeClass.
import { str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { named, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

export const nodeV1: GroupBehaviours = {
  runtimeclasses: {
    strategy: {
      validate: (o) => named('handler', o['handler'], dnsLabel),
      validateUpdate: (o, old) => unchanged('handler', o['handler'], old['handler']),
      allowCreateOnUpdate: true,
    },
    row: (o, now) => [nameCell(o), str(o['handler']), ageCell(o, now)],
  },
};
