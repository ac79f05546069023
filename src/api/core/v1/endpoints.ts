// The kind Endpoints: `10.0.0.1:80,10.0.0.2:80 + 3 more...`.

import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { num, objs, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { hostPort } from '../../../base/ip.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateEndpoints } from './validate-small.ts';

const shown = 3;

function addresses(endpoints: JsonObject): string {
  const subsets = objs(endpoints['subsets']);
  if (subsets.length === 0) return '<none>';
  const list: string[] = [];
  let count = 0;
  for (const subset of subsets) {
    const ports = objs(subset['ports']);
    const ips = objs(subset['addresses']).map((a) => str(a['ip']));
    const pairs =
      ports.length === 0 ? ips : ports.flatMap((p) => ips.map((ip) => hostPort(ip, num(p['port']))));
    for (const pair of pairs) {
      if (list.length < shown) list.push(pair);
      count++;
    }
  }
  const more = count > shown ? ` + ${count - shown} more...` : '';
  return list.length === 0 ? '<none>' : list.join(',') + more;
}

function applyDefaults(endpoints: JsonObject): void {
  for (const subset of objs(endpoints['subsets']))
    for (const port of objs(subset['ports'])) if (str(port['protocol']) === '') port['protocol'] = 'TCP';
}

export const endpoints: KindBehaviour = {
  row: (o, now) => [nameCell(o), addresses(o), ageCell(o, now)],
  strategy: { applyDefaults, validate: validateEndpoints, allowCreateOnUpdate: true },
};
