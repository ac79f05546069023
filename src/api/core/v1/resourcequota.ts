// The kind ResourceQuota: `cpu: 1/4, pods: 3/10`, requests and limits apart.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { obj, status, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateResourceQuota } from './validate-small.ts';

function usage(quota: JsonObject, limits: boolean): string {
  const hard = obj(status(quota)['hard']);
  const used = obj(status(quota)['used']);
  return Object.keys(hard)
    .sort()
    .filter((name) => name.startsWith('limits') === limits)
    .map((name) => `${name}: ${str(used[name]) || '0'}/${str(hard[name])}`)
    .join(', ');
}

export const resourceQuota: KindBehaviour = {
  strategy: { validate: validateResourceQuota },
  row: (o, now) => [nameCell(o), usage(o, false), usage(o, true), ageCell(o, now)],
};
