// The cluster's zone: what a name means, from Services and EndpointSlices. Pure. As CoreDNS' kubernetes plugin answers.
import type { Answer, SrvAnswer, StringAnswer } from 'dns-packet';
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { formatIpv4, parseIpv4 } from '../../base/ipv4.ts';

export interface ClusterView {
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, name: string): readonly EndpointSlice[];
  namespaceExists(name: string): boolean;
  servicesByIP(ip: string): readonly Service[];
  slicesByAddress(ip: string): readonly EndpointSlice[];
}

export interface ZoneOptions {
  /** `cluster.local` */
  readonly clusterDomain: string;
  readonly ttl: number;
}

export type Resolution =
  | { readonly kind: 'answers'; readonly answers: readonly Answer[]; readonly additionals: readonly Answer[] }
  /** The rest of the chain is to be looked up under `target`. */
  | { readonly kind: 'alias'; readonly answer: StringAnswer; readonly target: string }
  /** The name is there, but has nothing of this type. */
  | { readonly kind: 'noData' }
  | { readonly kind: 'noName' }
  /** Not a name of the cluster. */
  | { readonly kind: 'outside' };

const noData: Resolution = { kind: 'noData' };
const noName: Resolution = { kind: 'noName' };
const reverseZone = '.in-addr.arpa';

/** How much of what a name means is of use. */
export interface Want {
  /** More records than an answer can carry: that they are more is all that is asked of the rest. */
  readonly most: number;
  /** Where in a list of so many to begin, so that each is first in its turn. */
  first(length: number): number;
}
const everything: Want = { most: Number.POSITIVE_INFINITY, first: () => 0 };

/** Hosts of one name have the same records: so many pairs of host and port are tried for each record of use. */
const pairsForRecord = 16;

interface Host {
  readonly ip: string;
  /** The first label of an endpoint's own name; undefined for a ClusterIP. */
  readonly hostname: string | undefined;
}
interface Port {
  readonly port?: number | undefined;
  readonly name?: string | undefined;
  readonly protocol?: string | undefined;
}
/** Each host has each port. */
interface Group {
  readonly hosts: Iterable<Host>;
  readonly ports: readonly Port[];
}

const isIpv6 = (ip: string): boolean => ip.includes(':');
const hostnameOf = (endpoint: Endpoint, ip: string): string =>
  endpoint.hostname !== undefined && endpoint.hostname !== ''
    ? endpoint.hostname.toLowerCase()
    : ip.replaceAll(/[.:]/g, '-');
const isHeadless = (service: Service): boolean => service.spec.clusterIP === 'None';
const clusterIPsOf = (service: Service): readonly string[] => {
  const { clusterIP, clusterIPs } = service.spec;
  const list = (clusterIPs?.length ?? 0) > 0 ? clusterIPs! : [clusterIP ?? ''];
  return list.filter((ip) => ip !== '' && ip !== 'None');
};

function* inTurn<T>(list: readonly T[], want: Want): Iterable<T> {
  const first = list.length > 1 ? want.first(list.length) : 0;
  for (let i = 0; i < list.length; i++) yield list[(first + i) % list.length]!;
}

function* readyHosts(slice: EndpointSlice, want: Want): Iterable<Host> {
  for (const endpoint of inTurn(slice.endpoints ?? [], want))
    if (endpoint.conditions?.ready ?? true)
      for (const ip of endpoint.addresses) yield { ip, hostname: hostnameOf(endpoint, ip) };
}

/** Nothing is read before it is needed: a Service may have thousands of endpoints and of ports. */
function* endpointGroups(slices: readonly EndpointSlice[], want: Want): Iterable<Group> {
  for (const slice of inTurn(slices, want))
    yield { hosts: readyHosts(slice, want), ports: (slice.ports ?? []).length > 0 ? slice.ports! : [{}] };
}

const serviceGroup = (service: Service): Group => ({
  hosts: clusterIPsOf(service).map((ip) => ({ ip, hostname: undefined })),
  ports: service.spec.ports ?? [],
});

/** Lists of ports are thousands long, and of objects that nobody changes: each is read once, not for each question. */
function rememberedFor<T>(make: (ports: readonly Port[]) => T): (ports: readonly Port[]) => T {
  const made = new WeakMap<readonly Port[], T>();
  return (ports) => {
    const known = made.get(ports) ?? make(ports);
    made.set(ports, known);
    return known;
  };
}
const portKey = (name: string | undefined, protocol: string | undefined): string =>
  `${(protocol ?? 'TCP').toLowerCase()} ${name ?? ''}`;
const portsByName = rememberedFor((ports) => Map.groupBy(ports, (port) => portKey(port.name, port.protocol)));
/** A record says the number alone: ports that share one are one. */
const portNumbers = rememberedFor((ports) => [...new Set(ports.map(({ port = 0 }) => port))]);

function* withPort(groups: Iterable<Group>, key: string): Iterable<Group> {
  for (const { hosts, ports } of groups) yield { hosts, ports: portsByName(ports).get(key) ?? [] };
}
function* named(hosts: Iterable<Host>, name: string): Iterable<Host> {
  for (const host of hosts) if (host.hostname === name) yield host;
}
function* withHostname(groups: Iterable<Group>, name: string): Iterable<Group> {
  for (const { hosts, ports } of groups) yield { hosts: named(hosts, name), ports };
}

const addressRecord = (name: string, ip: string, ttl: number): StringAnswer => ({
  name,
  type: isIpv6(ip) ? 'AAAA' : 'A',
  class: 'IN',
  ttl,
  data: ip,
});

const answersOrNoData = (answers: readonly Answer[], additionals: readonly Answer[] = []): Resolution =>
  answers.length === 0 ? noData : { kind: 'answers', answers, additionals };

export function createZone(
  view: ClusterView,
  options: ZoneOptions,
): {
  resolve(name: string, type: string, want?: Want): Resolution;
  soa(serial: number): Answer;
} {
  const domain = options.clusterDomain.toLowerCase().replace(/\.$/, '');
  const { ttl } = options;

  function srv(name: string, service: Service, groups: Iterable<Group>, want: Want): Resolution {
    const base = `${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`;
    const answers = new Map<string, SrvAnswer>();
    const additionals = new Map<string, StringAnswer>();
    let left = want.most * pairsForRecord;
    const add = ({ hostname, ip }: Host, port: number): void => {
      const target = hostname === undefined ? base : `${hostname}.${base}`;
      const data = { priority: 0, weight: 0, port, target };
      answers.set(`${target}:${port}`, { name, type: 'SRV', class: 'IN', ttl, data });
      const type = isIpv6(ip) ? 'AAAA' : 'A';
      additionals.set(`${target} ${ip}`, { name: target, type, class: 'IN', ttl, data: ip });
    };
    collect: for (const { hosts, ports } of groups)
      for (const host of hosts)
        for (const port of portNumbers(ports)) {
          if (answers.size >= want.most || left-- <= 0) break collect;
          add(host, port);
        }
    if (answers.size === 0) return noName;
    const hosts = new Set([...answers.values()].map((answer) => answer.data.target));
    const weight = Math.max(1, Math.floor(100 / hosts.size));
    return answersOrNoData(
      [...answers.values()].map((answer) => ({ ...answer, data: { ...answer.data, weight } })),
      [...additionals.values()],
    );
  }

  function addresses(name: string, type: string, groups: Iterable<Group>, want: Want): Resolution {
    const found = new Set<string>();
    let any = false;
    collect: for (const { hosts, ports } of groups)
      for (const { ip } of ports.length === 0 ? [] : hosts) {
        any = true;
        if (type === (isIpv6(ip) ? 'AAAA' : 'A') || type === 'ANY') found.add(ip);
        if (found.size >= want.most) break collect;
      }
    return any ? answersOrNoData([...found].map((ip) => addressRecord(name, ip, ttl))) : noName;
  }

  /** `labels` are what stands before `<namespace>.svc`, nearest the service last. */
  function serviceName(
    name: string,
    labels: readonly string[],
    namespace: string,
    type: string,
    want: Want,
  ): Resolution {
    const service = view.service(namespace, labels.at(-1) ?? '');
    if (service === undefined) return noName;
    const before = labels.slice(0, -1);
    if (service.spec.type === 'ExternalName') {
      if (before.length > 0) return noName;
      const target = (service.spec.externalName ?? '').toLowerCase().replace(/\.$/, '');
      return { kind: 'alias', answer: { name, type: 'CNAME', class: 'IN', ttl, data: target }, target };
    }
    const endpoints = (): Iterable<Group> =>
      endpointGroups(view.slices(namespace, service.metadata.name ?? ''), want);
    const groups = isHeadless(service) ? endpoints() : [serviceGroup(service)];
    const of = (some: Iterable<Group>): Resolution =>
      type === 'SRV' ? srv(name, service, some, want) : addresses(name, type, some, want);
    if (before.length === 0) return of(groups);
    if (before.length === 1) return of(withHostname(endpoints(), before[0]!));
    if (before.length > 2 || !before.every((label) => label.startsWith('_'))) return noName;
    const [wanted, protocol] = before.map((label) => label.slice(1));
    return of(withPort(groups, portKey(wanted, protocol)));
  }

  function podName(name: string, labels: readonly string[], namespace: string, type: string): Resolution {
    if (labels.length !== 1 || !view.namespaceExists(namespace)) return noName;
    const value = parseIpv4(labels[0]!.replaceAll('-', '.'));
    if (value === undefined) return noName;
    return type === 'A' || type === 'ANY'
      ? answersOrNoData([addressRecord(name, formatIpv4(value), ttl)])
      : noData;
  }

  function apex(name: string, type: string): Resolution {
    if (type === 'NS')
      return answersOrNoData([{ name, type: 'NS', class: 'IN', ttl, data: `ns.dns.${domain}` }]);
    return type === 'SOA' ? answersOrNoData([soa(1)]) : noData;
  }

  function inZone(name: string, lower: string, type: string, want: Want): Resolution {
    if (lower === domain) return apex(name, type);
    const labels = lower.slice(0, -domain.length - 1).split('.');
    const kind = labels.pop();
    if (kind === 'dns-version' && labels.length === 0)
      return type === 'TXT'
        ? answersOrNoData([{ name, type: 'TXT', class: 'IN', ttl: 28_800, data: '1.1.0' }])
        : noData;
    if (kind !== 'svc' && kind !== 'pod') return noName;
    const namespace = labels.pop();
    if (namespace === undefined) return noData;
    if (labels.length === 0) return view.namespaceExists(namespace) ? noData : noName;
    return kind === 'svc'
      ? serviceName(name, labels, namespace, type, want)
      : podName(name, labels, namespace, type);
  }

  /** An address that is not the cluster's is left to the resolvers outside. */
  function reverse(name: string, lower: string, type: string, want: Want): Resolution {
    const ip = lower.slice(0, -reverseZone.length).split('.').reverse().join('.');
    if (parseIpv4(ip) === undefined) return { kind: 'outside' };
    const service = view.servicesByIP(ip)[0];
    const names = new Set(
      service === undefined
        ? endpointNames(ip).take(want.most)
        : [`${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`],
    );
    if (names.size === 0) return { kind: 'outside' };
    if (type !== 'PTR') return noData;
    return answersOrNoData([...names].map((data) => ({ name, type: 'PTR', class: 'IN', ttl, data })));
  }

  function* endpointNames(ip: string): Generator<string> {
    for (const slice of view.slicesByAddress(ip)) {
      const service = slice.metadata.labels?.['kubernetes.io/service-name'];
      for (const endpoint of service === undefined ? [] : (slice.endpoints ?? []))
        if (endpoint.addresses.includes(ip))
          yield `${hostnameOf(endpoint, ip)}.${service}.${slice.metadata.namespace}.svc.${domain}`;
    }
  }

  function soa(serial: number): Answer {
    const data = {
      mname: `ns.dns.${domain}`,
      rname: `hostmaster.${domain}`,
      serial,
      refresh: 7200,
      retry: 1800,
      expire: 86_400,
      minimum: ttl,
    };
    return { name: domain, type: 'SOA', class: 'IN', ttl, data };
  }

  return {
    soa,
    resolve: (name, type, want = everything) => {
      const lower = name.toLowerCase().replace(/\.$/, '');
      if (lower === domain || lower.endsWith(`.${domain}`)) return inZone(name, lower, type, want);
      return lower.endsWith(reverseZone) ? reverse(name, lower, type, want) : { kind: 'outside' };
    },
  };
}
