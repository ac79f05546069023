// The text of the whole table, and of the change from one state of services to the next: pure, in steps.
import type { Steps } from '../../../base/turns.ts';
import { Pace, stepSize } from '../../pace.ts';
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

/** Base chains, one rule a line. Where each hooks in is as in kube-proxy's nftables mode. */
export const baseChains: string = `
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

/** Piece by piece: one text of a hundred thousand elements would keep all else waiting. */
function* joined(texts: Iterable<string>, separator: string): Steps<string> {
  const pieces: string[] = [];
  let piece: string[] = [];
  for (const text of texts) {
    if (piece.push(text) < stepSize) continue;
    pieces.push(piece.join(separator));
    piece = [];
    yield;
  }
  if (piece.length > 0) pieces.push(piece.join(separator));
  return pieces.join(separator);
}

/** All of them, each key once. */
function* merged(fragments: Iterable<Fragment>): Steps<Fragment> {
  const elements = new Map<MapName, Map<string, string>>(mapNames.map((name) => [name, new Map()]));
  const sharedChains = new Set<string>();
  const chains = new Map<string, readonly string[]>();
  const sets = new Map<string, number>();
  const pace = new Pace();
  for (const fragment of fragments) {
    for (const [name, entries] of fragment.elements)
      for (const [elementKey, value] of entries) {
        elements.get(name)!.set(elementKey, value);
        if (pace.over()) yield;
      }
    for (const name of fragment.sharedChains) sharedChains.add(name);
    for (const [name, rules] of fragment.chains) chains.set(name, rules);
    for (const [name, seconds] of fragment.sets) sets.set(name, seconds);
    if (pace.over(1 + fragment.chains.size + fragment.sets.size)) yield;
  }
  return { elements, sharedChains, chains, sets };
}

function* chainTexts(all: Fragment, clusterCIDR: string): Generator<string, void, undefined> {
  const ruled = (name: string, rules: readonly string[]): string =>
    `  chain ${name} {\n${rules.join('\n')}\n  }`;
  for (const name of all.sharedChains) yield ruled(name, rulesOfSharedChain(name, clusterCIDR));
  for (const [name, rules] of all.chains) yield ruled(name, rules);
}

/** Replaces the table in one transaction. */
export function* renderTable(fragments: Iterable<Fragment>, clusterCIDR: string): Steps<string> {
  const all = yield* merged(fragments);
  const parts = [`add table ${table}\ndelete table ${table}\ntable ${table} {`];
  for (const name of mapNames) {
    const entries = all.elements.get(name) ?? new Map<string, string>();
    const list = yield* joined(entries.entries().map(elementText), ',\n');
    parts.push(`  ${mapType(name)}${list === '' ? '' : `\n  elements = { ${list} }`}\n  }`);
  }
  parts.push(
    yield* joined(
      all.sets.entries().map(([name, seconds]) => `  ${setDefinition(name, seconds)}`),
      '\n',
    ),
  );
  parts.push(yield* joined(chainTexts(all, clusterCIDR), '\n'));
  return `${parts.join('\n')}\n${baseChains}}\n`;
}

const sameRules = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((rule, i) => rule === b[i]);

/** What the table has that is nobody's own. */
export interface SharedParts {
  readonly chains: Set<string>;
  /** How many services have a pod behind them. */
  readonly hairpins: Map<string, number>;
}

class Elements {
  readonly #byMap = new Map<MapName, string[]>();

  put(map: MapName, text: string): void {
    const texts = this.#byMap.get(map);
    if (texts === undefined) this.#byMap.set(map, [text]);
    else texts.push(text);
  }

  *commands(verb: 'add' | 'delete'): Steps<string[]> {
    const commands: string[] = [];
    for (const [map, texts] of this.#byMap)
      commands.push(`${verb} element ${table} ${map} { ${yield* joined(texts, ', ')} }`);
    return commands;
  }
}

/**
 * One transaction for changes of any number of services. All that goes, goes before what comes: what one service gives up,
 * another may take over in it.
 */
export class TableChange {
  readonly #shared: SharedParts;
  readonly #clusterCIDR: string;
  readonly #made: string[] = [];
  readonly #deleted = new Elements();
  readonly #added = new Elements();
  readonly #gone: string[] = [];
  readonly #pace = new Pace();

  constructor(shared: SharedParts, clusterCIDR: string) {
    this.#shared = shared;
    this.#clusterCIDR = clusterCIDR;
  }

  *replace(before: Fragment | undefined, after: Fragment | undefined): Steps<void> {
    yield* this.#make(before, after);
    yield* this.#drop(before, after);
    // a changed value is deleted and added: nft has no other way
    for (const [map, entries] of before?.elements ?? [])
      for (const [elementKey, value] of entries) {
        if (after?.elements.get(map)?.get(elementKey) !== value && this.#isLast(map, elementKey))
          this.#deleted.put(map, elementKey);
        if (this.#pace.over()) yield;
      }
    for (const [map, entries] of after?.elements ?? [])
      for (const entry of entries) {
        if (before?.elements.get(map)?.get(entry[0]) !== entry[1] && this.#isFirst(map, entry[0]))
          this.#added.put(map, elementText(entry));
        if (this.#pace.over()) yield;
      }
  }

  /** Empty when nothing changes. */
  *text(): Steps<string> {
    const deletions = yield* this.#deleted.commands('delete');
    const additions = yield* this.#added.commands('add');
    const made = yield* joined(this.#made, '\n');
    const gone = yield* joined(this.#gone, '\n');
    const lines = [made, ...deletions, ...additions, gone].filter((line) => line !== '');
    return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  }

  *#make(before: Fragment | undefined, after: Fragment | undefined): Steps<void> {
    for (const name of after?.sharedChains ?? []) {
      if (this.#shared.chains.has(name)) continue;
      this.#shared.chains.add(name);
      this.#made.push(`add chain ${table} ${name}`);
      this.#addRules(name, rulesOfSharedChain(name, this.#clusterCIDR));
    }
    for (const [name, seconds] of after?.sets ?? []) {
      if (before?.sets.has(name) !== true)
        this.#made.push(setDefinition(name, seconds).replace('set ', `add set ${table} `));
      if (this.#pace.over()) yield;
    }
    const changed: [string, readonly string[]][] = [];
    for (const [name, rules] of after?.chains ?? []) {
      if (!sameRules(before?.chains.get(name), rules)) changed.push([name, rules]);
      if (this.#pace.over(rules.length)) yield;
    }
    // chains may jump to one another: all exist before the first rule
    for (const [name] of changed)
      this.#made.push(`add chain ${table} ${name}`, `flush chain ${table} ${name}`);
    for (const [name, rules] of changed) {
      this.#addRules(name, rules);
      if (this.#pace.over(rules.length)) yield;
    }
  }

  #addRules(name: string, rules: readonly string[]): void {
    for (const rule of rules) this.#made.push(`add rule ${table} ${name} ${rule}`);
  }

  *#drop(before: Fragment | undefined, after: Fragment | undefined): Steps<void> {
    const chains = [...(before?.chains.keys() ?? [])].filter((name) => after?.chains.has(name) !== true);
    for (const name of chains) this.#gone.push(`flush chain ${table} ${name}`);
    for (const name of chains) this.#gone.push(`delete chain ${table} ${name}`);
    for (const name of before?.sets.keys() ?? []) {
      if (after?.sets.has(name) !== true) this.#gone.push(`delete set ${table} ${name}`);
      if (this.#pace.over()) yield;
    }
  }

  /** A pod behind two services is one element of the set. */
  #isFirst(map: MapName, elementKey: string): boolean {
    if (map !== 'hairpin') return true;
    const count = (this.#shared.hairpins.get(elementKey) ?? 0) + 1;
    this.#shared.hairpins.set(elementKey, count);
    return count === 1;
  }

  #isLast(map: MapName, elementKey: string): boolean {
    if (map !== 'hairpin') return true;
    const count = (this.#shared.hairpins.get(elementKey) ?? 1) - 1;
    if (count > 0) this.#shared.hairpins.set(elementKey, count);
    else this.#shared.hairpins.delete(elementKey);
    return count <= 0;
  }
}
