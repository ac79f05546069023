// One service's share of the nftables table, as elements of global maps and, for affinity, chains of its own: pure.
import type { Steps } from '../../../base/turns.ts';
import { Pace } from '../../pace.ts';
import { type Backend, elementsOf, type Frontend, frontendKey, type ServiceRules } from '../../rule-set.ts';

export const table = 'ip porthole-proxy';
export const masqueradeMark = '0x4000';

/**
 * A map of endpoints for each protocol: nft ties the ports in a map's type to one protocol, and a rule that uses the
 * map then matches that protocol only.
 */
const endpointProtocols = ['tcp', 'udp', 'sctp'] as const;
export type EndpointProtocol = (typeof endpointProtocols)[number];
const endpointKinds = [
  'endpoints',
  'nodeport-endpoints',
  'inside-endpoints',
  'nodeport-inside-endpoints',
] as const;
export type EndpointKind = (typeof endpointKinds)[number];
export type EndpointMapName = `${EndpointProtocol}-${EndpointKind}`;

const endpointMaps: readonly EndpointMapName[] = endpointProtocols.flatMap((protocol) =>
  endpointKinds.map((kind): EndpointMapName => `${protocol}-${kind}`),
);

const otherMaps = [
  'services',
  'nodeports',
  'no-endpoints',
  'no-nodeport-endpoints',
  'cluster-ips',
  'restricted',
  'allowed',
  'hairpin',
] as const;
export type OtherMapName = (typeof otherMaps)[number];
export type MapName = OtherMapName | EndpointMapName;
export const mapNames: readonly MapName[] = [...otherMaps, ...endpointMaps];

export interface Fragment {
  /** Value '' for a set. */
  readonly elements: ReadonlyMap<MapName, ReadonlyMap<string, string>>;
  /** Names of chains shared by all services with as many endpoints. */
  readonly sharedChains: ReadonlySet<string>;
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
  readonly sharedChains = new Set<string>();
  readonly chains = new Map<string, readonly string[]>();
  readonly sets = new Map<string, number>();

  put(map: MapName, key: string, value = ''): void {
    const entries = this.elements.get(map) ?? new Map<string, string>();
    this.elements.set(map, entries.set(key, value));
  }
}

/** Shared chains are named by what they do: `<place>-<protocol>-<kind>-<endpoints>[-<inside endpoints>]`. */
function sharedChain(frontend: Frontend): string {
  const place = `${frontend.ip === undefined ? 'nodeport' : 'service'}-${frontend.protocol}`;
  const count = frontend.backends.length;
  if (frontend.source !== 'local') return `${place}-${frontend.source}-${count}`;
  return `${place}-local-${count}-${frontend.insideBackends.length}`;
}

/** The rules of a shared chain, from its name. */
export function rulesOfSharedChain(name: string, clusterCIDR: string): string[] {
  const match = /^(service|nodeport)-(tcp|udp|sctp)-(cluster|external|local)-([0-9]+)(?:-([0-9]+))?$/.exec(
    name,
  );
  if (match === null) throw new Error(`${name} is not the name of a shared chain`);
  const prefix = match[1] === 'nodeport' ? 'nodeport-' : '';
  const protocol = match[2]!;
  const portKey = `meta l4proto . ${protocol} dport`;
  const key = match[1] === 'nodeport' ? portKey : `ip daddr . ${portKey}`;
  const dnat = (map: string, count: number): string =>
    `dnat ip to ${key} . numgen random mod ${count} map @${protocol}-${prefix}${map}`;
  const count = Number(match[4]);
  const inside = Number(match[5] ?? 0);
  switch (match[3]) {
    case 'cluster':
      return [`ip saddr != ${clusterCIDR} ${mark}`, dnat('endpoints', count)];
    case 'external':
      return [mark, dnat('endpoints', count)];
    default:
      return [
        `ip saddr ${clusterCIDR} ${dnat('inside-endpoints', inside)}`,
        `fib saddr type local ${mark}`,
        `fib saddr type local ${dnat('inside-endpoints', inside)}`,
        count === 0 ? 'drop' : dnat('endpoints', count),
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
  const chain = sharedChain(frontend);
  builder.sharedChains.add(chain);
  builder.put(verdicts, key, `goto ${chain}`);
  const prefix = isNodePort ? 'nodeport-' : '';
  for (const [i, backend] of frontend.backends.entries())
    builder.put(
      `${frontend.protocol}-${prefix}endpoints`,
      `${key} . ${i}`,
      `${backend.ip} . ${backend.port}`,
    );
  for (const [i, backend] of frontend.insideBackends.entries())
    builder.put(
      `${frontend.protocol}-${prefix}inside-endpoints`,
      `${key} . ${i}`,
      `${backend.ip} . ${backend.port}`,
    );
}

export function* fragmentOf(rules: ServiceRules, context: FragmentContext): Steps<Fragment> {
  const builder = new Builder();
  const pace = new Pace();
  for (const frontend of rules.frontends) {
    addFrontend(builder, frontend, rules.service, context);
    if (pace.over(elementsOf(frontend))) yield;
  }
  return builder;
}
