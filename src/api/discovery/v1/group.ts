// The kind EndpointSlice.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { num, objs, setDefault, str, strs } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { addressTypeStays, validateEndpointSlice } from './validate-endpointslice.ts';

const shown = 3;
const fewOf = (list: readonly string[], empty: string): string =>
  list.length === 0
    ? empty
    : list.length > shown
      ? `${list.slice(0, shown).join(',')} + ${list.length - shown} more...`
      : list.join(',');

const portText = (port: JsonObject): string => {
  const number = port['port'] === undefined ? '*' : String(num(port['port']));
  return number;
};

export const discoveryV1: GroupBehaviours = {
  endpointslices: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      str(o['addressType']),
      fewOf(objs(o['ports']).map(portText), '<unset>'),
      fewOf(
        objs(o['endpoints']).flatMap((e) => strs(e['addresses'])),
        '<unset>',
      ),
      ageCell(o, now),
    ],
    strategy: {
      validate: validateEndpointSlice,
      validateUpdate: addressTypeStays,
      applyDefaults(o) {
        for (const port of objs(o['ports'])) {
          setDefault(port, 'name', '');
          setDefault(port, 'protocol', 'TCP');
        }
      },
    },
  },
};
