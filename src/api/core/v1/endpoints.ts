// The kind Endpoints: `10.0.0.1:80,10.0.0.2:80 + 3 more...`.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { hostPort } from '../../../base/ip.ts';
import type { Endpoints } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateEndpoints } from './validate-small.ts';

const shown = 3;

function addresses(endpoints: Decoded<Endpoints>): string {
  const subsets = endpoints.subsets ?? [];
  if (subsets.length === 0) return '<none>';
  const list: string[] = [];
  let count = 0;
  for (const subset of subsets) {
    const ports = subset.ports ?? [];
    const ips = (subset.addresses ?? []).map((a) => a.ip ?? '');
    const pairs = ports.length === 0 ? ips : ports.flatMap((p) => ips.map((ip) => hostPort(ip, p.port ?? 0)));
    for (const pair of pairs) {
      if (list.length < shown) list.push(pair);
      count++;
    }
  }
  const more = count > shown ? ` + ${count - shown} more...` : '';
  return list.length === 0 ? '<none>' : list.join(',') + more;
}

function applyDefaults(endpoints: Decoded<Endpoints>): void {
  for (const subset of endpoints.subsets ?? [])
    for (const port of subset.ports ?? []) if (!port.protocol) port.protocol = 'TCP';
}

export const endpoints: KindBehaviour<Endpoints> = {
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  row: (o, now) => [nameCell(o), addresses(o), ageCell(o, now)],
  strategy: { applyDefaults, validate: validateEndpoints, allowCreateOnUpdate: true },
};
