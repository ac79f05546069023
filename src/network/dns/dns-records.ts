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

interface Target {
  readonly ip: string;
  readonly port: number;
  readonly portName: string;
  readonly protocol: string;
  /** The first label of an endpoint's own name; undefined for a ClusterIP. */
  readonly hostname: string | undefined;
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

function endpointTargets(slices: readonly EndpointSlice[]): Target[] {
  return slices.flatMap((slice) => {
    const ports = (slice.ports ?? []).length > 0 ? slice.ports! : [{}];
    return (slice.endpoints ?? [])
      .filter((endpoint) => endpoint.conditions?.ready ?? true)
      .flatMap((endpoint) =>
        endpoint.addresses.flatMap((ip) =>
          ports.map((port) => ({
            ip,
            port: port.port ?? 0,
            portName: port.name ?? '',
            protocol: (port.protocol ?? 'TCP').toLowerCase(),
            hostname: hostnameOf(endpoint, ip),
          })),
        ),
      );
  });
}

function serviceTargets(service: Service): Target[] {
  const ports = service.spec.ports ?? [];
  return clusterIPsOf(service).flatMap((ip) =>
    ports.map((port) => ({
      ip,
      port: port.port,
      portName: port.name ?? '',
      protocol: (port.protocol ?? 'TCP').toLowerCase(),
      hostname: undefined,
    })),
  );
}

function addressRecords(name: string, ips: readonly string[], type: string, ttl: number): StringAnswer[] {
  return [...new Set(ips)]
    .filter((ip) => (type === 'AAAA' ? isIpv6(ip) : type === 'A' ? !isIpv6(ip) : type === 'ANY'))
    .map((ip) => ({ name, type: isIpv6(ip) ? 'AAAA' : 'A', class: 'IN', ttl, data: ip }));
}

const answersOrNoData = (answers: readonly Answer[], additionals: readonly Answer[] = []): Resolution =>
  answers.length === 0 ? noData : { kind: 'answers', answers, additionals };

export function createZone(
  view: ClusterView,
  options: ZoneOptions,
): {
  resolve(name: string, type: string): Resolution;
  soa(serial: number): Answer;
} {
  const domain = options.clusterDomain.toLowerCase().replace(/\.$/, '');
  const { ttl } = options;

  function srv(name: string, service: Service, targets: readonly Target[]): Resolution {
    const base = `${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`;
    const answers = new Map<string, SrvAnswer>();
    const additionals = new Map<string, StringAnswer>();
    for (const { hostname, ip, port } of targets) {
      const target = hostname === undefined ? base : `${hostname}.${base}`;
      const data = { priority: 0, weight: 0, port, target };
      answers.set(`${target}:${port}`, { name, type: 'SRV', class: 'IN', ttl, data });
      const type = isIpv6(ip) ? 'AAAA' : 'A';
      additionals.set(`${target} ${ip}`, { name: target, type, class: 'IN', ttl, data: ip });
    }
    const hosts = new Set([...answers.values()].map((answer) => answer.data.target));
    const weight = Math.max(1, Math.floor(100 / Math.max(1, hosts.size)));
    return answersOrNoData(
      [...answers.values()].map((answer) => ({ ...answer, data: { ...answer.data, weight } })),
      [...additionals.values()],
    );
  }

  function ofTargets(name: string, type: string, service: Service, targets: readonly Target[]): Resolution {
    if (targets.length === 0) return noName;
    if (type === 'SRV') return srv(name, service, targets);
    return answersOrNoData(
      addressRecords(
        name,
        targets.map((target) => target.ip),
        type,
        ttl,
      ),
    );
  }

  /** `labels` are what stands before `<namespace>.svc`, nearest the service last. */
  function serviceName(name: string, labels: readonly string[], namespace: string, type: string): Resolution {
    const service = view.service(namespace, labels.at(-1) ?? '');
    if (service === undefined) return noName;
    const before = labels.slice(0, -1);
    const own = { namespace, name: service.metadata.name ?? '' };
    if (service.spec.type === 'ExternalName') {
      if (before.length > 0) return noName;
      const target = (service.spec.externalName ?? '').toLowerCase().replace(/\.$/, '');
      return { kind: 'alias', answer: { name, type: 'CNAME', class: 'IN', ttl, data: target }, target };
    }
    const endpoints = (): Target[] => endpointTargets(view.slices(own.namespace, own.name));
    const targets = isHeadless(service) ? endpoints() : serviceTargets(service);
    if (before.length === 0) return ofTargets(name, type, service, targets);
    if (before.length === 1)
      return ofTargets(
        name,
        type,
        service,
        endpoints().filter((target) => target.hostname === before[0]),
      );
    if (before.length > 2 || !before.every((label) => label.startsWith('_'))) return noName;
    const [port, protocol] = before.map((label) => label.slice(1));
    const matching = targets.filter((t) => t.portName === port && t.protocol === protocol);
    return ofTargets(name, type, service, matching);
  }

  function podName(name: string, labels: readonly string[], namespace: string, type: string): Resolution {
    if (labels.length !== 1 || !view.namespaceExists(namespace)) return noName;
    const value = parseIpv4(labels[0]!.replaceAll('-', '.'));
    return value === undefined
      ? noName
      : answersOrNoData(addressRecords(name, [formatIpv4(value)], type, ttl));
  }

  function apex(name: string, type: string): Resolution {
    if (type === 'NS')
      return answersOrNoData([{ name, type: 'NS', class: 'IN', ttl, data: `ns.dns.${domain}` }]);
    return type === 'SOA' ? answersOrNoData([soa(1)]) : noData;
  }

  function inZone(name: string, lower: string, type: string): Resolution {
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
      ? serviceName(name, labels, namespace, type)
      : podName(name, labels, namespace, type);
  }

  /** An address that is not the cluster's is left to the resolvers outside. */
  function reverse(name: string, lower: string, type: string): Resolution {
    const ip = lower.slice(0, -reverseZone.length).split('.').reverse().join('.');
    if (parseIpv4(ip) === undefined) return { kind: 'outside' };
    const service = view.servicesByIP(ip)[0];
    const names =
      service !== undefined
        ? [`${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`]
        : view.slicesByAddress(ip).flatMap((slice) => endpointNames(slice, ip));
    if (names.length === 0) return { kind: 'outside' };
    if (type !== 'PTR') return noData;
    return answersOrNoData(
      [...new Set(names)].map((data) => ({ name, type: 'PTR', class: 'IN', ttl, data })),
    );
  }

  function endpointNames(slice: EndpointSlice, ip: string): string[] {
    const service = slice.metadata.labels?.['kubernetes.io/service-name'];
    if (service === undefined) return [];
    return (slice.endpoints ?? [])
      .filter((endpoint) => endpoint.addresses.includes(ip))
      .map((endpoint) => `${hostnameOf(endpoint, ip)}.${service}.${slice.metadata.namespace}.svc.${domain}`);
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
    resolve: (name, type) => {
      const lower = name.toLowerCase().replace(/\.$/, '');
      if (lower === domain || lower.endsWith(`.${domain}`)) return inZone(name, lower, type);
      return lower.endsWith(reverseZone) ? reverse(name, lower, type) : { kind: 'outside' };
    },
  };
}
