// As which addresses of Services nodes are heard on the cluster's network, kept in step: what changes is looked at, namespace by
// namespace, and what differs is written. Whoever may write a Service writes any address there, and as many as fit.
import type { Service } from '../api/generated/types/core-v1.ts';
import { cidrContains, type Ip, parseCidr, parseIp, parseIpWithBits } from '../base/ip.ts';
import type { Steps } from '../base/turns.ts';
import type { LinkInfo, RouteInfo } from '../os/links.ts';
import { routePrefix } from './subnet.ts';

/** Whether a node may speak as this address, whatever Services say. */
export type Heard = (address: Ip) => boolean;

/**
 * Nobody looks for an address on the cluster's network but where the machine's routes lead there: its own subnet, and what
 * its administrator routes to nodes. From other senders the machine takes nothing anyway (`rp_filter`). `never`: the cluster's
 * own prefixes.
 */
export function heardOn(
  bridge: string,
  { found, routes }: { readonly found: readonly LinkInfo[]; readonly routes: readonly RouteInfo[] },
  never: readonly string[],
): Heard {
  const known = routes
    .flatMap(({ to, dev, unreachable }) => {
      const cidr = routePrefix(to);
      return cidr === undefined || cidr.bits === 0 ? [] : [{ cidr, ours: dev === bridge && !unreachable }];
    })
    .sort((a, b) => b.cidr.bits - a.cidr.bits);
  const ours = known.filter((route) => route.ours);
  const own = never.flatMap((prefix) => parseCidr(prefix) ?? []);
  const machine = new Set(
    found.flatMap((link) => link.addresses).map((address) => parseIpWithBits(address)?.ip.value),
  );
  return (address) =>
    ours.some(({ cidr }) => cidrContains(cidr, address)) &&
    known.find(({ cidr }) => cidrContains(cidr, address))!.ours &&
    !machine.has(address.value) &&
    !own.some((prefix) => cidrContains(prefix, address));
}

/** Looked at of the Services of a namespace, in the order they came: a Service may have tens of thousands. */
const mostOfNamespace = 4096;

/** Addresses by which a Service is reached from outside: routed to a node, or claimed by one for a load balancer. */
function announcedBy(service: Service, most: number): readonly string[] {
  const ingress = service.spec.type === 'LoadBalancer' ? (service.status?.loadBalancer?.ingress ?? []) : [];
  const balanced = ingress.slice(0, most).flatMap(({ ip }) => ip ?? []);
  return [...balanced, ...(service.spec.externalIPs ?? []).slice(0, most - balanced.length)];
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((address, i) => address === b[i]);

export class Announced {
  readonly #services = new Map<string, Map<string, Service>>();
  readonly #dirty = new Set<string>();
  readonly #ofNamespace = new Map<string, ReadonlySet<string>>();
  /** How many namespaces have it. */
  readonly #counts = new Map<string, number>();
  /** What the set in the kernel lacks, and has too much; undefined: nobody knows what it has. */
  #differences: { readonly missing: Set<string>; readonly left: Set<string> } | undefined;
  #rule = '';
  #forgotten = 0;
  #saidAt = 0;

  /** `after` undefined: it is gone. True when something is to be written, perhaps. */
  change(before: Service | undefined, after: Service | undefined): boolean {
    const { namespace = '', name = '' } = (after ?? before)!.metadata;
    const addresses = after === undefined ? [] : announcedBy(after, mostOfNamespace);
    const services = this.#services.get(namespace) ?? new Map<string, Service>();
    if (after === undefined || addresses.length === 0) services.delete(name);
    else this.#services.set(namespace, services.set(name, after));
    if (services.size === 0) this.#services.delete(namespace);
    if (same(before === undefined ? [] : announcedBy(before, mostOfNamespace), addresses)) return false;
    this.#dirty.add(namespace);
    return true;
  }

  /** The set is not what was written: it is written as a whole. */
  forget(): void {
    this.#differences = undefined;
    this.#forgotten++;
  }

  /** `write` does what `text` said: until it is done, and when it fails, nobody knows what the set has. */
  async written(write: () => Promise<void>): Promise<void> {
    this.#differences = undefined;
    await write();
    if (this.#forgotten === this.#saidAt) this.#differences = { missing: new Set(), left: new Set() };
  }

  /** Commands that bring the set up to date. `rule` names what `heard` judges by: when it changes, all is judged anew. */
  *text(set: string, heard: Heard, rule: string): Steps<string> {
    if (rule !== this.#rule) for (const namespace of this.#services.keys()) this.#dirty.add(namespace);
    this.#rule = rule;
    for (const namespace of this.#dirty) {
      this.#dirty.delete(namespace);
      this.#judge(namespace, heard);
      yield;
    }
    const elements = (verb: string, of: Iterable<string>): string => {
      const list = [...of].join(', ');
      return list === '' ? '' : `${verb} element ${set} { ${list} }\n`;
    };
    this.#saidAt = this.#forgotten;
    if (this.#differences === undefined) return `flush set ${set}\n${elements('add', this.#counts.keys())}`;
    const { left, missing } = this.#differences;
    return `${elements('delete', left)}${elements('add', missing)}`;
  }

  #judge(namespace: string, heard: Heard): void {
    const before = this.#ofNamespace.get(namespace) ?? new Set<string>();
    const now = new Set<string>();
    let room = mostOfNamespace;
    for (const service of this.#services.get(namespace)?.values() ?? []) {
      const addresses = announcedBy(service, room);
      for (const address of addresses) {
        const ip = parseIp(address);
        if (ip?.family === 4 && heard(ip)) now.add(address);
      }
      room -= addresses.length;
      if (room === 0) break;
    }
    if (now.size === 0) this.#ofNamespace.delete(namespace);
    else this.#ofNamespace.set(namespace, now);
    for (const address of before) if (!now.has(address)) this.#drop(address);
    for (const address of now) if (!before.has(address)) this.#add(address);
  }

  #add(address: string): void {
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    if (count === 1 && this.#differences?.left.delete(address) === false)
      this.#differences.missing.add(address);
  }

  #drop(address: string): void {
    const count = this.#counts.get(address)! - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
    if (count === 0 && this.#differences?.missing.delete(address) === false)
      this.#differences.left.add(address);
  }
}
