// The cluster's zone: what a name means, from Services and EndpointSlices. Pure. As CoreDNS' kubernetes plugin answers.

import type { Answer, SrvAnswer, StringAnswer } from 'dns-packet';
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { comparableIp, formatIp, type Ip, parseIp } from '../../base/ip.ts';
import { isHeadless } from '../../component-helpers/headless.ts';
import {
  type AddressType,
  endpointGroups,
  type Group,
  type Host,
  hostnameOf,
  portKey,
  portNumbers,
  serviceGroup,
  type Want,
  withHostname,
  withPort,
} from './dns-hosts.ts';

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

const everything: Want = { most: Number.POSITIVE_INFINITY, first: () => 0 };

/** Hosts of one name have the same records: so many pairs of host and port are tried for each record of use. */
const pairsForRecord = 16;

const answersOrNoData = (answers: readonly Answer[], additionals: readonly Answer[] = []): Resolution =>
  answers.length === 0 ? noData : { kind: 'answers', answers, additionals };

const withoutDot = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** `1-2-3-4` or `fd00--7`, as CoreDNS reads names of pods. */
const podIp = (label: string): Ip | undefined =>
  parseIp(label.replaceAll('-', '.')) ?? parseIp(label.replaceAll('-', ':'));

/** The address that a name of a reverse zone is for; undefined for a part of one, and for other names. */
function reversedIp(name: string): Ip | undefined {
  const [, labels = '', zone] = /^(.+)\.(in-addr|ip6)\.arpa$/.exec(name) ?? [];
  const parts = labels.split('.').reverse();
  if (zone === 'in-addr') return parseIp(parts.join('.'));
  const isWhole = parts.length === 32 && parts.every((part) => part.length === 1);
  return isWhole ? parseIp(parts.join('').match(/.{4}/g)!.join(':')) : undefined;
}

export class Zone {
  readonly #view: ClusterView;
  readonly #domain: string;
  readonly #ttl: number;

  constructor(view: ClusterView, options: ZoneOptions) {
    this.#view = view;
    this.#domain = withoutDot(options.clusterDomain);
    this.#ttl = options.ttl;
  }

  resolve(name: string, type: string, want: Want = everything): Resolution {
    const lower = withoutDot(name);
    if (lower === this.#domain) return this.#apex(name, type);
    if (lower.endsWith(`.${this.#domain}`)) return this.#inZone(name, lower, type, want);
    const ip = reversedIp(lower);
    return ip === undefined ? { kind: 'outside' } : this.#reverse(name, formatIp(ip), type, want);
  }

  soa(serial: number): Answer {
    const data = {
      mname: `ns.dns.${this.#domain}`,
      rname: `hostmaster.${this.#domain}`,
      serial,
      refresh: 7200,
      retry: 1800,
      expire: 86_400,
      minimum: this.#ttl,
    };
    return { ...this.#record(this.#domain), type: 'SOA', data };
  }

  #record(name: string): { readonly name: string; readonly class: 'IN'; readonly ttl: number } {
    return { name, class: 'IN', ttl: this.#ttl };
  }

  #addressRecord(name: string, type: AddressType, ip: string): StringAnswer {
    return { ...this.#record(name), type, data: ip };
  }

  #apex(name: string, type: string): Resolution {
    if (type === 'NS')
      return answersOrNoData([{ ...this.#record(name), type, data: `ns.dns.${this.#domain}` }]);
    return type === 'SOA' ? answersOrNoData([this.soa(1)]) : noData;
  }

  #inZone(name: string, lower: string, type: string, want: Want): Resolution {
    const labels = lower.slice(0, -this.#domain.length - 1).split('.');
    const kind = labels.pop();
    if (kind === 'dns-version' && labels.length === 0)
      return type === 'TXT'
        ? answersOrNoData([{ name, type, class: 'IN', ttl: 28_800, data: '1.1.0' }])
        : noData;
    if (kind !== 'svc' && kind !== 'pod') return noName;
    const namespace = labels.pop();
    if (namespace === undefined) return noData;
    if (labels.length === 0) return this.#view.namespaceExists(namespace) ? noData : noName;
    return kind === 'svc'
      ? this.#serviceName(name, labels, namespace, type, want)
      : this.#podName(name, labels, namespace, type);
  }

  /** `labels` are what stands before `<namespace>.svc`, nearest the service last. */
  #serviceName(
    name: string,
    labels: readonly string[],
    namespace: string,
    type: string,
    want: Want,
  ): Resolution {
    const service = this.#view.service(namespace, labels.at(-1) ?? '');
    if (service === undefined) return noName;
    const before = labels.slice(0, -1);
    if (service.spec.type === 'ExternalName') return before.length > 0 ? noName : this.#alias(name, service);
    const endpoints = (): Iterable<Group> =>
      endpointGroups(this.#view.slices(namespace, service.metadata.name ?? ''), want);
    const groups = isHeadless(service) ? endpoints() : [serviceGroup(service)];
    const of = (some: Iterable<Group>): Resolution =>
      type === 'SRV' ? this.#srv(name, service, some, want) : this.#addresses(name, type, some, want);
    if (before.length === 0) return of(groups);
    if (before.length === 1) return of(withHostname(endpoints(), before[0]!));
    if (before.length > 2 || !before.every((label) => label.startsWith('_'))) return noName;
    const [wanted, protocol] = before.map((label) => label.slice(1));
    return of(withPort(groups, portKey(wanted, protocol)));
  }

  #alias(name: string, service: Service): Resolution {
    const target = withoutDot(service.spec.externalName ?? '');
    return { kind: 'alias', answer: { ...this.#record(name), type: 'CNAME', data: target }, target };
  }

  #srv(name: string, service: Service, groups: Iterable<Group>, want: Want): Resolution {
    const base = this.#nameOf(service);
    const answers = new Map<string, SrvAnswer>();
    const additionals = new Map<string, StringAnswer>();
    let left = want.most * pairsForRecord;
    const add = ({ hostname, ip, type }: Host, port: number): void => {
      const target = hostname === undefined ? base : `${hostname}.${base}`;
      const data = { priority: 0, weight: 0, port, target };
      answers.set(`${target}:${port}`, { ...this.#record(name), type: 'SRV', data });
      additionals.set(`${target} ${ip}`, this.#addressRecord(target, type, ip));
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

  #addresses(name: string, type: string, groups: Iterable<Group>, want: Want): Resolution {
    const found = new Map<string, StringAnswer>();
    let any = false;
    collect: for (const { hosts, ports } of groups)
      for (const host of ports.length === 0 ? [] : hosts) {
        any = true;
        if (type === host.type || type === 'ANY')
          found.set(host.ip, this.#addressRecord(name, host.type, host.ip));
        if (found.size >= want.most) break collect;
      }
    return any ? answersOrNoData([...found.values()]) : noName;
  }

  #podName(name: string, labels: readonly string[], namespace: string, type: string): Resolution {
    if (labels.length !== 1 || !this.#view.namespaceExists(namespace)) return noName;
    const ip = podIp(labels[0]!);
    if (ip === undefined) return noName;
    const own = ip.family === 4 ? 'A' : 'AAAA';
    return type === own || type === 'ANY'
      ? answersOrNoData([this.#addressRecord(name, own, formatIp(ip))])
      : noData;
  }

  /** An address that is not the cluster's is left to the resolvers outside. */
  #reverse(name: string, ip: string, type: string, want: Want): Resolution {
    const service = this.#view.servicesByIP(ip)[0];
    const names = new Set(
      service === undefined ? this.#endpointNames(ip).take(want.most) : [this.#nameOf(service)],
    );
    if (names.size === 0) return { kind: 'outside' };
    if (type !== 'PTR') return noData;
    return answersOrNoData([...names].map((data) => ({ ...this.#record(name), type: 'PTR', data })));
  }

  *#endpointNames(ip: string): Generator<string> {
    for (const slice of this.#view.slicesByAddress(ip)) {
      const service = slice.metadata.labels?.['kubernetes.io/service-name'];
      for (const endpoint of service === undefined ? [] : (slice.endpoints ?? []))
        if (endpoint.addresses.some((address) => comparableIp(address) === ip))
          yield `${hostnameOf(endpoint, ip)}.${service}.${slice.metadata.namespace}.svc.${this.#domain}`;
    }
  }

  #nameOf({ metadata: { name, namespace } }: Service): string {
    return `${name}.${namespace}.svc.${this.#domain}`;
  }
}
