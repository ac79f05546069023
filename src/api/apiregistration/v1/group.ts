// The kind APIService: which server answers for a group and version.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { isObject, objs, setDefault, spec, status, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

function available(service: JsonObject): string {
  const condition = objs(status(service)['conditions']).find((c) => c['type'] === 'Available');
  if (!condition) return 'Unknown';
  return condition['status'] === 'True'
    ? 'True'
    : `${str(condition['status'])} (${str(condition['reason'])})`;
}

export const apiregistrationV1: GroupBehaviours = {
  apiservices: {
    nameRule: pathSegment,
    row: (o, now) => {
      const service = spec(o)['service'];
      return [
        nameCell(o),
        isObject(service) ? `${str(service['namespace'])}/${str(service['name'])}` : 'Local',
        available(o),
        ageCell(o, now),
      ];
    },
    strategy: {
      applyDefaults(o) {
        const service = spec(o)['service'];
        if (isObject(service)) setDefault(service, 'port', 443);
      },
    },
  },
};
