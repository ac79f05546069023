// The smallest change from the endpoint slices that are there to those that should be.
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { parseIp } from '../../base/ip.ts';
import { portSetKey } from './port-key.ts';

export type Family = 'IPv4' | 'IPv6';
export const familyOf = (ip: string): Family => (parseIp(ip)?.family === 6 ? 'IPv6' : 'IPv4');

/** Upstream's --max-endpoints-per-slice. */
const maxEndpoints = 100;

export interface SliceChanges {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}
/** What all slices of one service have in common. */
export interface SliceTarget {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly labels: Record<string, string>;
  /** undefined: annotations are not ours. */
  readonly annotations?: Record<string, string>;
  readonly owner: OwnerReference;
  /** Whether one slice stays when there are no endpoints. */
  readonly keepsOne: boolean;
}

/** Endpoints with the same ports. */
export interface EndpointGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

const noPorts: readonly EndpointPort[] = [];
const portKey = (ports: readonly EndpointPort[] | undefined): string => portSetKey(ports ?? noPorts);
export const addressKey = (endpoint: Endpoint): string =>
  `${endpoint.targetRef?.uid ?? ''}/${endpoint.addresses[0]}`;

/** The group of these ports, made when there is none. */
export function sliceGroupOf(
  groups: Map<string, EndpointGroup>,
  ports: readonly EndpointPort[],
): Map<string, Endpoint> {
  const key = portKey(ports);
  let group = groups.get(key);
  if (group === undefined) {
    group = { ports, endpoints: new Map() };
    groups.set(key, group);
  }
  return group.endpoints;
}

/** A slice and what it holds after the change. */
interface Plan {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  readonly ports: readonly EndpointPort[];
}

function newSlice(
  target: SliceTarget,
  family: string,
  ports: readonly EndpointPort[],
  endpoints: Endpoint[],
): EndpointSlice {
  const { name, namespace, labels, annotations, owner } = target;
  return {
    addressType: family,
    endpoints,
    ports: [...ports],
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels,
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [owner],
    } as EndpointSlice['metadata'],
  };
}

/** Endpoints stay in the slice they are in; new ones fill the fullest slice with room, then new slices. */
function place(group: EndpointGroup, slices: readonly EndpointSlice[]): { plans: Plan[]; rest: Endpoint[] } {
  const wanted = new Map(group.endpoints);
  const plans = slices.map((slice): Plan => {
    const endpoints: Endpoint[] = [];
    for (const old of slice.endpoints ?? []) {
      const key = addressKey(old);
      const endpoint = wanted.get(key);
      if (endpoint === undefined) continue;
      wanted.delete(key);
      endpoints.push(endpoint);
    }
    return { slice, endpoints, ports: group.ports };
  });
  const rest = [...wanted.values()];
  const changed = (plan: Plan): number =>
    plan.endpoints.length === (plan.slice.endpoints ?? []).length ? 0 : 1;
  // First those that are written anyway: fewer writes is what every node pays for.
  const order = [...plans].sort((a, b) => changed(b) - changed(a) || b.endpoints.length - a.endpoints.length);
  for (const plan of order)
    while (rest.length > 0 && plan.endpoints.length < maxEndpoints) plan.endpoints.push(rest.shift()!);
  return { plans, rest };
}

/** The smallest change of the slices of one family. */
export function familyChanges(
  target: SliceTarget,
  family: Family,
  wanted: ReadonlyMap<string, EndpointGroup>,
  existing: readonly EndpointSlice[],
): SliceChanges {
  const create: EndpointSlice[] = [];
  const plans: Plan[] = [];
  const byPorts = Map.groupBy(existing, (slice) => portKey(slice.ports));
  const unused = existing.filter((slice) => !wanted.has(portKey(slice.ports)));
  for (const [key, group] of wanted) {
    const placed = place(group, byPorts.get(key) ?? []);
    plans.push(...placed.plans);
    for (let at = 0; at < placed.rest.length; at += maxEndpoints) {
      const endpoints = placed.rest.slice(at, at + maxEndpoints);
      // A slice that would be deleted is changed instead: its name lives on.
      const reused = unused.shift();
      if (reused === undefined) create.push(newSlice(target, family, group.ports, endpoints));
      else plans.push({ slice: reused, endpoints, ports: group.ports });
    }
  }
  const empty = [...plans.filter((plan) => plan.endpoints.length === 0).map((plan) => plan.slice), ...unused];
  const kept = plans.filter((plan) => plan.endpoints.length > 0);
  // A service without endpoints still has one slice, so that "none" differs from "not yet known".
  if (target.keepsOne && kept.length === 0 && create.length === 0) {
    const placeholder = empty.shift();
    if (placeholder === undefined) create.push(newSlice(target, family, [], []));
    else kept.push({ slice: placeholder, endpoints: [], ports: [] });
  }
  const { labels, annotations } = target;
  const update = kept
    .filter(
      ({ slice, endpoints, ports }) =>
        !semanticEqual(endpoints, slice.endpoints) ||
        portKey(ports) !== portKey(slice.ports) ||
        !semanticEqual(labels, slice.metadata.labels) ||
        (annotations !== undefined && !semanticEqual(annotations, slice.metadata.annotations)),
    )
    .map(
      ({ slice, endpoints, ports }): EndpointSlice => ({
        ...slice,
        endpoints,
        ports: [...ports],
        metadata: { ...slice.metadata, labels, ...(annotations === undefined ? {} : { annotations }) },
      }),
    );
  return { create, update, remove: empty };
}
