// The text of the whole table, and of the change from one state of a service to the next: pure.
import {
  type EndpointMapName,
  type Fragment,
  type MapName,
  mapNames,
  masqueradeMark,
  type OtherMapName,
  rulesOfSharedChain,
  table,
} from './fragment.ts';

const key = 'ip daddr . meta l4proto . th dport';
const nodePortKey = 'meta l4proto . th dport';

const otherMapTypes: Readonly<Record<OtherMapName, string>> = {
  services: 'map services { type ipv4_addr . inet_proto . inet_service : verdict',
  nodeports: 'map nodeports { type inet_proto . inet_service : verdict',
  'no-endpoints': 'map no-endpoints { type ipv4_addr . inet_proto . inet_service : verdict',
  'no-nodeport-endpoints': 'map no-nodeport-endpoints { type inet_proto . inet_service : verdict',
  'cluster-ips': 'set cluster-ips { type ipv4_addr',
  restricted: 'set restricted { type ipv4_addr . inet_proto . inet_service',
  allowed: 'set allowed { type ipv4_addr . inet_proto . inet_service . ipv4_addr; flags interval',
  hairpin: 'set hairpin { type ipv4_addr . ipv4_addr',
};

/**
 * `typeof` lends the types of its expressions (an index has none of its own). With `th dport` nft 1.0.6 can't read the map
 * back from the kernel and refuses every later rule that uses it; with a protocol's own port, it can.
 */
function endpointMapType(name: EndpointMapName): string {
  const protocol = name.slice(0, name.indexOf('-'));
  const portKey = `meta l4proto . ${protocol} dport`;
  const key = name.includes('nodeport') ? portKey : `ip daddr . ${portKey}`;
  return `map ${name} { typeof ${key} . numgen random mod 2 : ip daddr . ${protocol} dport`;
}

const isOtherMap = (name: MapName): name is OtherMapName => name in otherMapTypes;
const mapType = (name: MapName): string => (isOtherMap(name) ? otherMapTypes[name] : endpointMapType(name));

/** Base chains. Where each hooks in is as in kube-proxy's nftables mode. */
const baseChains = `
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject
  }
  chain dispatch {
    ${key} vmap @services
    fib daddr type local ip daddr != 127.0.0.0/8 ${nodePortKey} vmap @nodeports
  }
  chain check-endpoints {
    ${key} vmap @no-endpoints
    fib daddr type local ip daddr != 127.0.0.0/8 ${nodePortKey} vmap @no-nodeport-endpoints
  }
  chain nat-prerouting { type nat hook prerouting priority dstnat; policy accept
    jump dispatch
  }
  chain nat-output { type nat hook output priority -100; policy accept
    jump dispatch
  }
  chain nat-postrouting { type nat hook postrouting priority srcnat; policy accept
    meta mark and ${masqueradeMark} == ${masqueradeMark} meta mark set meta mark xor ${masqueradeMark} masquerade fully-random
    ip saddr . ip daddr @hairpin ct status dnat masquerade fully-random
  }
  chain filter-prerouting { type filter hook prerouting priority -110; policy accept
    ct state new ${key} @restricted ${key} . ip saddr != @allowed drop
  }
  chain filter-input { type filter hook input priority -110; policy accept
    ct state new jump check-endpoints
  }
  chain filter-forward { type filter hook forward priority -110; policy accept
    ct state new jump check-endpoints
    ct state new ip daddr @cluster-ips goto refuse
  }
  chain filter-output { type filter hook output priority -110; policy accept
    ct state new jump check-endpoints
  }
  chain filter-output-after { type filter hook output priority -90; policy accept
    ct state new ip daddr @cluster-ips goto refuse
  }
`;

const setDefinition = (name: string, seconds: number): string =>
  `set ${name} { type ipv4_addr; size 65535; flags dynamic,timeout; timeout ${seconds}s; }`;

const elementText = ([elementKey, value]: readonly [string, string]): string =>
  value === '' ? elementKey : `${elementKey} : ${value}`;

/** Replaces the table in one transaction. */
export function renderTable(fragments: Iterable<Fragment>, clusterCIDR: string): string {
  const elements = new Map<MapName, Map<string, string>>(mapNames.map((name) => [name, new Map()]));
  const chains = new Map<string, readonly string[]>();
  const sets = new Map<string, number>();
  for (const fragment of fragments) {
    for (const [name, entries] of fragment.elements)
      for (const [elementKey, value] of entries) elements.get(name)!.set(elementKey, value);
    for (const name of fragment.sharedChains) chains.set(name, rulesOfSharedChain(name, clusterCIDR));
    for (const [name, rules] of fragment.chains) chains.set(name, rules);
    for (const [name, seconds] of fragment.sets) sets.set(name, seconds);
  }
  const maps = mapNames.map((name) => {
    const entries = [...elements.get(name)!];
    const list = entries.length === 0 ? '' : `\n  elements = { ${entries.map(elementText).join(',\n')} }`;
    return `  ${mapType(name)}${list}\n  }`;
  });
  const own = [...chains].map(([name, rules]) => `  chain ${name} {\n${rules.join('\n')}\n  }`);
  const affinity = [...sets].map(([name, seconds]) => `  ${setDefinition(name, seconds)}`);
  return `add table ${table}
delete table ${table}
table ${table} {
${[...maps, ...affinity, ...own].join('\n')}
${baseChains}}
`;
}

export interface ElementChange {
  readonly map: MapName;
  readonly key: string;
  readonly value: string;
}

export interface FragmentDiff {
  readonly deleted: readonly ElementChange[];
  readonly added: readonly ElementChange[];
}

function* entriesOf(fragment: Fragment | undefined): Generator<ElementChange> {
  for (const [map, entries] of fragment?.elements ?? [])
    for (const [elementKey, value] of entries) yield { map, key: elementKey, value };
}

/** A changed value is deleted and added: nft has no other way. */
export function diffElements(before: Fragment | undefined, after: Fragment | undefined): FragmentDiff {
  const valueIn = (fragment: Fragment | undefined, e: ElementChange): string | undefined =>
    fragment?.elements.get(e.map)?.get(e.key);
  return {
    deleted: [...entriesOf(before)].filter((e) => valueIn(after, e) !== e.value),
    added: [...entriesOf(after)].filter((e) => valueIn(before, e) !== e.value),
  };
}

function renderElements(verb: 'add' | 'delete', changes: readonly ElementChange[]): string[] {
  const byMap = new Map<MapName, string[]>();
  for (const { map, key: elementKey, value } of changes) {
    const text = verb === 'add' ? elementText([elementKey, value]) : elementKey;
    const texts = byMap.get(map);
    if (texts === undefined) byMap.set(map, [text]);
    else texts.push(text); // a copy for each of tens of thousands would be billions of steps
  }
  return [...byMap].map(([map, texts]) => `${verb} element ${table} ${map} { ${texts.join(', ')} }`);
}

const sameRules = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((rule, i) => rule === b[i]);

/** Lines of one transaction; `newSharedChains` are those the table does not have yet. */
export function renderChange(
  before: Fragment | undefined,
  after: Fragment | undefined,
  elements: FragmentDiff,
  newSharedChains: readonly string[],
  clusterCIDR: string,
): string[] {
  const oldChains = before?.chains ?? new Map<string, readonly string[]>();
  const chains = after?.chains ?? new Map<string, readonly string[]>();
  const oldSets = before?.sets ?? new Map<string, number>();
  const sets = after?.sets ?? new Map<string, number>();
  const ruleLines = (name: string, rules: readonly string[]): string[] =>
    rules.map((rule) => `add rule ${table} ${name} ${rule}`);
  const changed = [...chains].filter(([name, rules]) => !sameRules(oldChains.get(name), rules));
  const goneChains = [...oldChains.keys()].filter((name) => !chains.has(name));
  return [
    ...newSharedChains.flatMap((name) => [
      `add chain ${table} ${name}`,
      ...ruleLines(name, rulesOfSharedChain(name, clusterCIDR)),
    ]),
    ...[...sets]
      .filter(([name]) => !oldSets.has(name))
      .map(([name, seconds]) => setDefinition(name, seconds).replace('set ', `add set ${table} `)),
    // chains may jump to one another: all exist before the first rule
    ...changed.flatMap(([name]) => [`add chain ${table} ${name}`, `flush chain ${table} ${name}`]),
    ...changed.flatMap(([name, rules]) => ruleLines(name, rules)),
    ...renderElements('delete', elements.deleted),
    ...renderElements('add', elements.added),
    ...goneChains.map((name) => `flush chain ${table} ${name}`),
    ...goneChains.map((name) => `delete chain ${table} ${name}`),
    ...[...oldSets.keys()].filter((name) => !sets.has(name)).map((name) => `delete set ${table} ${name}`),
  ];
}
