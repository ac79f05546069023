// The kind EndpointSlice.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { EndpointPort, EndpointSlice } from '../../generated/types/discovery-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { addressTypeStays, endpointSliceWarnings, validateEndpointSlice } from './validate-endpointslice.ts';

const shown = 3;
const fewOf = (list: readonly string[], empty: string): string =>
  list.length === 0
    ? empty
    : list.length > shown
      ? `${list.slice(0, shown).join(',')} + ${list.length - shown} more...`
      : list.join(',');

const portText = (port: Decoded<EndpointPort>): string => {
  const number = port.port === undefined ? '*' : String(port.port ?? 0);
  return number;
};

export const discoveryV1: GroupBehaviours<{ endpointslices: EndpointSlice }> = {
  endpointslices: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      o.addressType ?? '',
      fewOf((o.ports ?? []).map(portText), '<unset>'),
      fewOf(
        (o.endpoints ?? []).flatMap((e) => e.addresses ?? []),
        '<unset>',
      ),
      ageCell(o, now),
    ],
    strategy: {
      validate: validateEndpointSlice,
      validateUpdate: addressTypeStays,
      warnings: endpointSliceWarnings,
      applyDefaults(o) {
        for (const port of o.ports ?? []) {
          port.name ??= '';
          port.protocol ??= 'TCP';
        }
      },
    },
  },
};
