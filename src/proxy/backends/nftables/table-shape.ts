// What the table has whatever the services: its maps and their types, and the chains of its hooks.
import type { Protocol } from '../../rule-set.ts';

export const table = 'ip porthole-proxy';
export const masqueradeMark = '0x4000';

/** An address of the service's own, or each address of the node. */
export type Place = 'service' | 'nodeport';

const key = 'ip daddr . meta l4proto . th dport';
const nodePortKey = 'meta l4proto . th dport';

/**
 * A map of endpoints for each protocol: nft ties the ports in a map's type to one protocol, and a rule that uses the
 * map then matches that protocol only.
 */
type EndpointMapName = `${Protocol}-${'' | 'nodeport-'}${'' | 'inside-'}endpoints`;

export const endpointMap = (place: Place, protocol: Protocol, isInside: boolean): EndpointMapName =>
  `${protocol}-${place === 'nodeport' ? 'nodeport-' : ''}${isInside ? 'inside-' : ''}endpoints`;

/** What an endpoint is looked up by, before its index. With a protocol's own port: see `endpointType`. */
export const endpointKey = (place: Place, protocol: Protocol): string =>
  `${place === 'nodeport' ? '' : 'ip daddr . '}meta l4proto . ${protocol} dport`;

/**
 * `typeof` lends the types of its expressions (an index has none of its own). With `th dport` nft 1.0.6 can't read the map
 * back from the kernel and refuses every later rule that uses it; with a protocol's own port, it can.
 */
const endpointType = (place: Place, protocol: Protocol): string =>
  `typeof ${endpointKey(place, protocol)} . numgen random mod 2 : ip daddr . ${protocol} dport`;

type OtherMapName =
  | 'services'
  | 'nodeports'
  | 'no-endpoints'
  | 'no-nodeport-endpoints'
  | 'cluster-ips'
  | 'restricted'
  | 'allowed'
  | 'hairpin';
export type MapName = OtherMapName | EndpointMapName;

interface MapShape {
  readonly kind: 'map' | 'set';
  readonly type: string;
}

const otherMaps: Readonly<Record<OtherMapName, MapShape>> = {
  services: { kind: 'map', type: 'type ipv4_addr . inet_proto . inet_service : verdict' },
  nodeports: { kind: 'map', type: 'type inet_proto . inet_service : verdict' },
  'no-endpoints': { kind: 'map', type: 'type ipv4_addr . inet_proto . inet_service : verdict' },
  'no-nodeport-endpoints': { kind: 'map', type: 'type inet_proto . inet_service : verdict' },
  'cluster-ips': { kind: 'set', type: 'type ipv4_addr' },
  restricted: { kind: 'set', type: 'type ipv4_addr . inet_proto . inet_service' },
  allowed: { kind: 'set', type: 'type ipv4_addr . inet_proto . inet_service . ipv4_addr; flags interval' },
  hairpin: { kind: 'set', type: 'type ipv4_addr . ipv4_addr' },
};

const endpointMaps = (['tcp', 'udp', 'sctp'] as const).flatMap((protocol) =>
  (['service', 'nodeport'] as const).flatMap((place) =>
    [false, true].map((isInside): [MapName, MapShape] => [
      endpointMap(place, protocol, isInside),
      { kind: 'map', type: endpointType(place, protocol) },
    ]),
  ),
);

export const maps: ReadonlyMap<MapName, MapShape> = new Map([
  ...(Object.entries(otherMaps) as [MapName, MapShape][]),
  ...endpointMaps,
]);

export interface BaseChain {
  readonly name: string;
  /** Undefined: jumped to. */
  readonly hook?: string;
  readonly rules: readonly string[];
}

/** Where each hooks in is as in kube-proxy's nftables mode. */
export const baseChains: readonly BaseChain[] = [
  { name: 'refuse', rules: ['meta l4proto tcp reject with tcp reset', 'reject'] },
  {
    name: 'dispatch',
    rules: [
      `${key} vmap @services`,
      `fib daddr type local ip daddr != 127.0.0.0/8 ${nodePortKey} vmap @nodeports`,
    ],
  },
  {
    name: 'check-endpoints',
    rules: [
      `${key} vmap @no-endpoints`,
      `fib daddr type local ip daddr != 127.0.0.0/8 ${nodePortKey} vmap @no-nodeport-endpoints`,
    ],
  },
  {
    name: 'nat-prerouting',
    hook: 'type nat hook prerouting priority dstnat; policy accept',
    rules: ['jump dispatch'],
  },
  {
    name: 'nat-output',
    hook: 'type nat hook output priority -100; policy accept',
    rules: ['jump dispatch'],
  },
  {
    name: 'nat-postrouting',
    hook: 'type nat hook postrouting priority srcnat; policy accept',
    rules: [
      `meta mark and ${masqueradeMark} == ${masqueradeMark} meta mark set meta mark xor ${masqueradeMark} masquerade fully-random`,
      'ip saddr . ip daddr @hairpin ct status dnat masquerade fully-random',
    ],
  },
  {
    name: 'filter-prerouting',
    hook: 'type filter hook prerouting priority -110; policy accept',
    rules: [`ct state new ${key} @restricted ${key} . ip saddr != @allowed drop`],
  },
  {
    name: 'filter-input',
    hook: 'type filter hook input priority -110; policy accept',
    rules: ['ct state new jump check-endpoints'],
  },
  {
    name: 'filter-forward',
    hook: 'type filter hook forward priority -110; policy accept',
    rules: ['ct state new jump check-endpoints', 'ct state new ip daddr @cluster-ips goto refuse'],
  },
  {
    name: 'filter-output',
    hook: 'type filter hook output priority -110; policy accept',
    rules: ['ct state new jump check-endpoints'],
  },
  {
    name: 'filter-output-after',
    hook: 'type filter hook output priority -90; policy accept',
    rules: ['ct state new ip daddr @cluster-ips goto refuse'],
  },
];
