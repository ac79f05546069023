// One service's share of the nftables table, as elements of global maps and, for affinity, chains of its own: pure.
import type { Steps } from '../../../base/turns.ts';
import { Pace } from '../../pace.ts';
import {
  type Backend,
  elementCount,
  type Frontend,
  frontendKey,
  type Protocol,
  type ServiceRules,
} from '../../rule-set.ts';
import { endpointKey, endpointMap, type MapName, masqueradeMark, type Place } from './table-shape.ts';

/** One that all services with as many endpoints share: what it does, and by that its name. */
export interface SharedChain {
  readonly place: Place;
  readonly protocol: Protocol;
  readonly source: Frontend['source'];
  readonly backends: number;
  /** Of `local` alone. */
  readonly insideBackends: number;
}

export interface Fragment {
  /** Value '' for a set. */
  readonly elements: ReadonlyMap<MapName, ReadonlyMap<string, string>>;
  /** By name. */
  readonly sharedChains: ReadonlyMap<string, SharedChain>;
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Affinity sets and their timeouts in seconds. */
  readonly sets: ReadonlyMap<string, number>;
}

export interface FragmentContext {
  readonly clusterCIDR: string;
  /** A short number for a service port, the same as long as the service lives. */
  affinityId(service: string, portName: string): number;
}

const mark = `meta mark set meta mark or ${masqueradeMark}`;

class Builder {
  readonly elements = new Map<MapName, Map<string, string>>();
  readonly sharedChains = new Map<string, SharedChain>();
  readonly chains = new Map<string, readonly string[]>();
  readonly sets = new Map<string, number>();

  put(map: MapName, key: string, value = ''): void {
    const entries = this.elements.get(map) ?? new Map<string, string>();
    this.elements.set(map, entries.set(key, value));
  }
}

const placeOf = (frontend: Frontend): Place => (frontend.ip === undefined ? 'nodeport' : 'service');

function sharedChainOf(frontend: Frontend): SharedChain {
  const { backends, insideBackends, protocol, source } = frontend;
  const inside = source === 'local' ? insideBackends.length : 0;
  return { place: placeOf(frontend), protocol, source, backends: backends.length, insideBackends: inside };
}

const nameOf = ({ backends, insideBackends, place, protocol, source }: SharedChain): string =>
  `${place}-${protocol}-${source}-${backends}${source === 'local' ? `-${insideBackends}` : ''}`;

export function rulesOf(chain: SharedChain, clusterCIDR: string): string[] {
  const { backends, insideBackends, place, protocol, source } = chain;
  const dnat = (count: number, isInside: boolean): string =>
    `dnat ip to ${endpointKey(place, protocol)} . numgen random mod ${count} map @${endpointMap(place, protocol, isInside)}`;
  switch (source) {
    case 'cluster':
      return [`ip saddr != ${clusterCIDR} ${mark}`, dnat(backends, false)];
    case 'external':
      return [mark, dnat(backends, false)];
    case 'local':
      return [
        `ip saddr ${clusterCIDR} ${dnat(insideBackends, true)}`,
        `fib saddr type local ${mark}`,
        `fib saddr type local ${dnat(insideBackends, true)}`,
        backends === 0 ? 'drop' : dnat(backends, false),
      ];
  }
}

const setName = (id: number, seconds: number, backend: Backend): string =>
  `affinity-${id}-${seconds}-${backend.ip.replaceAll('.', '-')}-${backend.port}`;

/** Known clients go where they went; others are spread, and remembered. */
function affinityRules(
  builder: Builder,
  frontend: Frontend,
  id: number,
  backends: readonly Backend[],
): string[] {
  const seconds = frontend.affinitySeconds;
  const go = (backend: Backend): string =>
    `update @${setName(id, seconds, backend)} { ip saddr } meta l4proto ${frontend.protocol} dnat to ${backend.ip}:${backend.port}`;
  for (const backend of backends) builder.sets.set(setName(id, seconds, backend), seconds);
  return [
    ...backends.map((backend) => `ip saddr @${setName(id, seconds, backend)} ${go(backend)}`),
    ...backends.map((backend, i) => {
      const left = backends.length - i;
      return left === 1 ? go(backend) : `numgen random mod ${left} 0 ${go(backend)}`;
    }),
  ];
}

/** Entry chain of a frontend with affinity; the choosing chains are shared by the service's frontends. */
function affinityChain(
  builder: Builder,
  frontend: Frontend,
  service: string,
  context: FragmentContext,
): string {
  const id = context.affinityId(service, frontend.portName);
  const choose = (kind: string, backends: readonly Backend[]): string => {
    const name = `affinity-${id}-${kind}`;
    builder.chains.set(name, affinityRules(builder, frontend, id, backends));
    return name;
  };
  const entry = `affinity-${id}-${frontend.source}-entry`;
  const policy = frontend.source === 'cluster' ? 'inside' : frontend.source;
  const main = frontend.backends.length === 0 ? 'drop' : `goto ${choose(policy, frontend.backends)}`;
  if (frontend.source === 'cluster')
    builder.chains.set(entry, [`ip saddr != ${context.clusterCIDR} ${mark}`, main]);
  else if (frontend.source === 'external') builder.chains.set(entry, [mark, main]);
  else {
    const inside = choose('all', frontend.insideBackends);
    builder.chains.set(entry, [
      `ip saddr ${context.clusterCIDR} goto ${inside}`,
      `fib saddr type local ${mark}`,
      `fib saddr type local goto ${inside}`,
      main,
    ]);
  }
  return entry;
}

function addFrontend(builder: Builder, frontend: Frontend, service: string, context: FragmentContext): void {
  const key = frontendKey(frontend);
  const isNodePort = frontend.ip === undefined;
  if (frontend.isClusterIP) builder.put('cluster-ips', frontend.ip!);
  if (frontend.allowedSources !== undefined) {
    builder.put('restricted', key);
    for (const source of frontend.allowedSources) builder.put('allowed', `${key} . ${source}`);
  }
  if (frontend.backends.length === 0 && frontend.insideBackends.length === 0) {
    const verdict = frontend.without === 'drop' ? 'drop' : 'goto refuse';
    builder.put(isNodePort ? 'no-nodeport-endpoints' : 'no-endpoints', key, verdict);
    return;
  }
  for (const backend of [...frontend.backends, ...frontend.insideBackends])
    if (backend.local) builder.put('hairpin', `${backend.ip} . ${backend.ip}`);
  const verdicts = isNodePort ? 'nodeports' : 'services';
  if (frontend.affinitySeconds > 0) {
    builder.put(verdicts, key, `goto ${affinityChain(builder, frontend, service, context)}`);
    return;
  }
  const chain = sharedChainOf(frontend);
  const name = nameOf(chain);
  builder.sharedChains.set(name, chain);
  builder.put(verdicts, key, `goto ${name}`);
  const putAll = (backends: readonly Backend[], isInside: boolean): void => {
    const map = endpointMap(chain.place, frontend.protocol, isInside);
    for (const [i, { ip, port }] of backends.entries()) builder.put(map, `${key} . ${i}`, `${ip} . ${port}`);
  };
  putAll(frontend.backends, false);
  putAll(frontend.insideBackends, true);
}

export function* fragmentOf(rules: ServiceRules, context: FragmentContext): Steps<Fragment> {
  const builder = new Builder();
  const pace = new Pace();
  for (const frontend of rules.frontends) {
    addFrontend(builder, frontend, rules.service, context);
    if (pace.over(elementCount(frontend))) yield;
  }
  return builder;
}
