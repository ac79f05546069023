// The text of the whole table, and of the change from one state of services to the next: pure, in steps.
import type { Steps } from '../../../base/turns.ts';
import { Pace, stepSize } from '../../pace.ts';
import { type Fragment, rulesOf, type SharedChain } from './fragment.ts';
import { baseChains, type MapName, maps, table } from './table-shape.ts';

/** Of clients that stay with an endpoint. */
const affinitySet = (seconds: number): string =>
  `{ type ipv4_addr; size 65535; flags dynamic,timeout; timeout ${seconds}s; }`;

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
  const elements = new Map<MapName, Map<string, string>>(maps.keys().map((name) => [name, new Map()]));
  const sharedChains = new Map<string, SharedChain>();
  const chains = new Map<string, readonly string[]>();
  const sets = new Map<string, number>();
  const pace = new Pace();
  for (const fragment of fragments) {
    for (const [name, entries] of fragment.elements)
      for (const [elementKey, value] of entries) {
        elements.get(name)!.set(elementKey, value);
        if (pace.over()) yield;
      }
    for (const [name, chain] of fragment.sharedChains) sharedChains.set(name, chain);
    for (const [name, rules] of fragment.chains) chains.set(name, rules);
    for (const [name, seconds] of fragment.sets) sets.set(name, seconds);
    if (pace.over(1 + fragment.chains.size + fragment.sets.size)) yield;
  }
  return { elements, sharedChains, chains, sets };
}

function* chainTexts(all: Fragment, clusterCIDR: string): Generator<string, void, undefined> {
  const ruled = (name: string, rules: readonly string[], hook?: string): string =>
    `  chain ${name} {${hook === undefined ? '' : ` ${hook}`}\n${rules.join('\n')}\n  }`;
  for (const [name, chain] of all.sharedChains) yield ruled(name, rulesOf(chain, clusterCIDR));
  for (const [name, rules] of all.chains) yield ruled(name, rules);
  for (const { name, hook, rules } of baseChains) yield ruled(name, rules, hook);
}

/** Replaces the table in one transaction. */
export function* renderTable(fragments: Iterable<Fragment>, clusterCIDR: string): Steps<string> {
  const all = yield* merged(fragments);
  const parts = [`add table ${table}\ndelete table ${table}\ntable ${table} {`];
  for (const [name, { kind, type }] of maps) {
    const list = yield* joined(all.elements.get(name)!.entries().map(elementText), ',\n');
    parts.push(`  ${kind} ${name} { ${type}${list === '' ? '' : `\n  elements = { ${list} }`}\n  }`);
  }
  const sets = all.sets.entries().map(([name, seconds]) => `  set ${name} ${affinitySet(seconds)}`);
  parts.push(yield* joined(sets, '\n'), yield* joined(chainTexts(all, clusterCIDR), '\n'));
  return `${parts.join('\n')}\n}\n`;
}

const sameRules = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((rule, i) => rule === b[i]);

/** What the table has that is nobody's own. */
export interface SharedParts {
  readonly chains: Map<string, SharedChain>;
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
    for (const [name, chain] of after?.sharedChains ?? []) {
      if (this.#shared.chains.has(name)) continue;
      this.#shared.chains.set(name, chain);
      this.#made.push(`add chain ${table} ${name}`);
      this.#addRules(name, rulesOf(chain, this.#clusterCIDR));
    }
    for (const [name, seconds] of after?.sets ?? []) {
      if (before?.sets.has(name) !== true)
        this.#made.push(`add set ${table} ${name} ${affinitySet(seconds)}`);
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
