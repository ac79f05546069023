// Who stands behind a name of the cluster: hosts and their ports, read no further than an answer needs. Pure.

import type { Service } from '../../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { parseIp } from '../../base/ip.ts';
import { rememberedFor } from '../../base/remembered-for.ts';

/** How much of what a name means is of use. */
export interface Want {
  /** More records than an answer can carry: that they are more is all that is asked of the rest. */
  readonly most: number;
  /** Where in a list of so many to begin, so that each is first in its turn. */
  first(length: number): number;
}

export type AddressType = 'A' | 'AAAA';

export interface Host {
  readonly ip: string;
  readonly type: AddressType;
  /** The first label of an endpoint's own name; undefined for a ClusterIP. */
  readonly hostname: string | undefined;
}
interface Port {
  readonly port?: number | undefined;
  readonly name?: string | undefined;
  readonly protocol?: string | undefined;
}
/** Each host has each port. */
export interface Group {
  readonly hosts: Iterable<Host>;
  readonly ports: readonly Port[];
}

/** None of what is no address: a slice may be of names. */
function hostAt(ip: string, hostname: string | undefined): Host[] {
  const family = parseIp(ip)?.family;
  return family === undefined ? [] : [{ ip, type: family === 4 ? 'A' : 'AAAA', hostname }];
}
export const hostnameOf = (endpoint: Endpoint, ip: string): string =>
  endpoint.hostname !== undefined && endpoint.hostname !== ''
    ? endpoint.hostname.toLowerCase()
    : ip.replaceAll(/[.:]/g, '-');
const clusterIPsOf = ({ spec: { clusterIP, clusterIPs } }: Service): readonly string[] =>
  (clusterIPs?.length ?? 0) > 0 ? clusterIPs! : [clusterIP ?? ''];

function* inTurn<T>(list: readonly T[], want: Want): Iterable<T> {
  const first = list.length > 1 ? want.first(list.length) : 0;
  for (let i = 0; i < list.length; i++) yield list[(first + i) % list.length]!;
}

function* readyHosts(slice: EndpointSlice, want: Want): Iterable<Host> {
  for (const endpoint of inTurn(slice.endpoints ?? [], want))
    if (endpoint.conditions?.ready ?? true)
      for (const ip of endpoint.addresses) yield* hostAt(ip, hostnameOf(endpoint, ip));
}

/** Nothing is read before it is needed: a Service may have thousands of endpoints and of ports. */
export function* endpointGroups(slices: readonly EndpointSlice[], want: Want): Iterable<Group> {
  for (const slice of inTurn(slices, want))
    yield { hosts: readyHosts(slice, want), ports: (slice.ports ?? []).length > 0 ? slice.ports! : [{}] };
}

export const serviceGroup = (service: Service): Group => ({
  hosts: clusterIPsOf(service).flatMap((ip) => hostAt(ip, undefined)),
  ports: service.spec.ports ?? [],
});

export const portKey = (name: string | undefined, protocol: string | undefined): string =>
  `${(protocol ?? 'TCP').toLowerCase()} ${name ?? ''}`;
/** Lists of ports are thousands long, and of objects that nobody changes: each is read once, not for each question. */
const portsByName = rememberedFor((ports: readonly Port[]) =>
  Map.groupBy(ports, (port) => portKey(port.name, port.protocol)),
);
/** A record says the number alone: ports that share one are one. */
export const portNumbers: (ports: readonly Port[]) => readonly number[] = rememberedFor(
  (ports: readonly Port[]) => [...new Set(ports.map(({ port = 0 }) => port))],
);

export function* withPort(groups: Iterable<Group>, key: string): Iterable<Group> {
  for (const { hosts, ports } of groups) yield { hosts, ports: portsByName(ports).get(key) ?? [] };
}
function* named(hosts: Iterable<Host>, name: string): Iterable<Host> {
  for (const host of hosts) if (host.hostname === name) yield host;
}
export function* withHostname(groups: Iterable<Group>, name: string): Iterable<Group> {
  for (const { hosts, ports } of groups) yield { hosts: named(hosts, name), ports };
}
