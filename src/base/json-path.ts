// JSONPath as client-go reads it, for printer columns and selectable fields: names, indices, slices, several of them, wildcards, filters and what is at any depth.
import { withoutLeading, withoutTrailing } from './without-trailing.ts';

type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'all' }
  /** `..`: itself and all that it holds, but for what holds nothing. */
  | { readonly kind: 'any depth' }
  /** `isOne`: an index. */
  | {
      readonly kind: 'slice';
      readonly from: number;
      readonly to: number | undefined;
      readonly by: number;
      readonly isOne: boolean;
    }
  | { readonly kind: 'several'; readonly paths: readonly (readonly Step[])[] }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  /** It can be read, and leads nowhere. */
  | { readonly kind: 'word' }
  | { readonly kind: 'filter'; readonly left: readonly Step[]; readonly comparison?: Comparison };

interface Comparison {
  readonly operator: string;
  readonly right: readonly Step[];
}

export interface JsonPath {
  /** All values that the path leads to. */
  find(value: unknown): unknown[];
  /** The first of them; undefined when there is none, or when too much had to be looked at. */
  first(value: unknown, looks: Looks): unknown;
}

/** Of a path that can be read, but not followed in this value: upstream finds nothing at all then. */
class DeadEnd extends Error {}

const isEqual = (a: Comparable, b: Comparable): boolean => a === b;
type Comparable = string | number | bigint | boolean;
const comparisons: Readonly<Record<string, (a: Comparable, b: Comparable) => boolean>> = {
  '==': isEqual,
  '!=': (a, b) => !isEqual(a, b),
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

/** As Go compares: an integer with an integer, a float with a float. */
function kindOf(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  throw new DeadEnd('invalid type for comparison');
}

function isHolding(operator: string, left: unknown, right: unknown): boolean {
  const compare = comparisons[operator];
  if (compare === undefined) throw new DeadEnd(`unrecognized filter operator ${operator}`);
  const kind = kindOf(left);
  if (kind !== kindOf(right)) throw new DeadEnd('incompatible types for comparison');
  if (kind === 'boolean' && !operator.endsWith('=')) throw new DeadEnd('invalid type for comparison');
  // A long one is a bigint: such are compared with others as what they are.
  return compare(
    typeof right === 'bigint' ? BigInt(left as number) : (left as Comparable),
    typeof left === 'bigint' ? BigInt(right as number) : (right as Comparable),
  );
}

const isEndOfName = /[ \t\r\n.,[\]$@{}]/;
const isAlphaNumeric = /[\p{L}\p{Nd}_]/u;
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Reads one path from its beginning to its end. */
class Reader {
  readonly #text: string;
  readonly #steps: Step[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Throws Error for what can't be read. */
  read(): Step[] {
    // What follows a brace is another path.
    while (this.#at < this.#text.length && this.#text[this.#at] !== '}') this.#step();
    return this.#steps;
  }

  #step(): void {
    const text = this.#text;
    const char = text[this.#at]!;
    if (text.startsWith('[?(', this.#at)) this.#filter();
    else if (text.startsWith('..', this.#at)) this.#anyDepth();
    else if (char === ' ' || char === '@' || char === '$') this.#at++;
    else if (char === '[') this.#brackets();
    else if (char === '"' || char === "'") this.#quoted(char);
    else if (char === '.') this.#name(1);
    else if (/[+\-\p{Nd}]/u.test(char)) this.#number();
    else if (isAlphaNumeric.test(char)) this.#word();
    else throw new Error(`unrecognized character in action: ${char}`);
  }

  /** What `pattern` finds here; it is sticky, and finds something. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #anyDepth(): void {
    if (this.#steps.at(-1)?.kind === 'any depth') throw new Error('invalid multiple recursive descent');
    this.#steps.push({ kind: 'any depth' });
    this.#at += 2;
    if (isAlphaNumeric.test(this.#text[this.#at] ?? '')) this.#name(0);
  }

  #name(dots: number): void {
    this.#at += dots;
    const from = this.#at;
    for (; this.#at < this.#text.length && !isEndOfName.test(this.#text[this.#at]!); this.#at++)
      if (this.#text[this.#at] === '\\') this.#at++;
    const name = this.#text.slice(from, this.#at);
    this.#steps.push(name === '*' ? { kind: 'all' } : { kind: 'name', name: name.replaceAll('\\', '') });
  }

  #number(): void {
    const text = this.#take(/[+-]?[.\d]*/y);
    const value = Number(text);
    if (text === '' || Number.isNaN(value)) throw new Error(`cannot parse number ${text}`);
    this.#literal(value);
  }

  /** Of several in a row the last is what is found: a path of them alone would be followed as deep as it is long. */
  #literal(value: string | number | boolean): void {
    if (this.#steps.at(-1)?.kind === 'literal') this.#steps.pop();
    this.#steps.push({ kind: 'literal', value });
  }

  #word(): void {
    const word = this.#take(/[^ \t\r\n.,[\]$@{}]+/y);
    if (word === 'true' || word === 'false') this.#literal(word === 'true');
    else this.#steps.push({ kind: 'word' });
  }

  #quoted(quote: string): void {
    const text = this.#take(quote === '"' ? /"(?:[^"\\\n]|\\.)*"/y : /'(?:[^'\\\n]|\\.)*'/y);
    if (text === '') throw new Error('unterminated quoted string');
    const value = text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => {
      const meant = escapes[char];
      if (meant === undefined) throw new Error(`unquote string ${text} error invalid syntax`);
      return meant;
    });
    this.#literal(value);
  }

  #brackets(): void {
    const text = this.#take(/\[[^\]\n]*\]/y);
    if (text === '') throw new Error('unterminated array');
    this.#steps.push(...bracketed(text.slice(1, -1)));
  }

  /** Its text ends with the first bracket outside of the one quoted text that it may have: no filter is within another. */
  #filter(): void {
    const from = this.#at + 3;
    const to = endOfFilter(this.#text, from);
    if (this.#text[to + 1] !== ']') throw new Error('unclosed array expect ]');
    this.#at = to + 2;
    const inner = this.#text.slice(from, to);
    const [, left, operator, right] = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(inner) ?? [];
    this.#steps.push(
      left === undefined
        ? { kind: 'filter', left: stepsOf(inner) }
        : {
            kind: 'filter',
            left: stepsOf(left),
            comparison: { operator: operator!, right: stepsOf(right!) },
          },
    );
  }
}

function endOfFilter(text: string, from: number): number {
  let quote = '';
  let isQuoteOver = true;
  for (let i = from; i < text.length && text[i] !== '\n'; i++) {
    const char = text[i]!;
    if (char === ')' && isQuoteOver) return i;
    if (char !== '"' && char !== "'") continue;
    if (quote === '') [quote, isQuoteOver] = [char, false];
    else if (char === quote && text[i - 1] !== '\\') isQuoteOver = true;
  }
  throw new Error('unterminated filter');
}

const stepsOf = (text: string): Step[] => new Reader(text).read();

/** What is between brackets: names in single quotes are paths of their own, all else is of a list. */
function bracketed(text: string): Step[] {
  const several = text.split(',');
  if (several.length > 1)
    return [
      {
        kind: 'several',
        paths: several.map((one) => stepsOf(`[${withoutTrailing(withoutLeading(one, ' '), ' ')}]`)),
      },
    ];
  const name = /^'([^']*)'$/.exec(text)?.[1];
  if (name !== undefined) return stepsOf(`.${name}`);
  const slice = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text);
  if (slice === null || slice.includes('-') || slice.includes(':-'))
    throw new Error(`invalid array index ${text}`);
  const [, from = '', to, by = ''] = slice;
  const isOne = to === undefined;
  return [
    {
      kind: 'slice',
      from: Number(from),
      to: isOne ? Number(from) + 1 : to === ':' ? undefined : Number(to.slice(1)),
      by: by.length > 1 ? Number(by.slice(1)) : 1,
      isOne,
    },
  ];
}

/** What may still be looked at. */
export interface Looks {
  left: number;
}

function take(step: Step, value: unknown, looks: Looks): unknown[] {
  if (step.kind === 'literal') return [step.value];
  if (step.kind === 'word') throw new DeadEnd('unrecognized identifier');
  if (looks.left <= 0) return [];
  if (step.kind === 'several') return union(step.paths, value, looks);
  if (typeof value !== 'object' || value === null) {
    if (step.kind === 'filter' || (step.kind === 'slice' && value !== null))
      throw new DeadEnd('it is not array or slice');
    return [];
  }
  looks.left--;
  switch (step.kind) {
    case 'name':
      // A list has none: not its length, and what is in it only in brackets.
      if (Array.isArray(value) || !Object.hasOwn(value, step.name)) return [];
      return [(value as Record<string, unknown>)[step.name]];
    case 'all':
      return members(value, looks);
    case 'any depth':
      return everyHolder(value, looks);
    default: {
      if (!Array.isArray(value)) throw new DeadEnd('it is not array or slice');
      return step.kind === 'slice' ? sliced(step, value, looks) : filtered(step, value, looks);
    }
  }
}

function union(paths: readonly (readonly Step[])[], value: unknown, looks: Looks): unknown[] {
  const found: unknown[] = [];
  for (const path of paths) {
    // Of what holds nothing each of them is one more look, too.
    if (--looks.left <= 0) break;
    for (const one of all(path, value, looks)) found.push(one);
  }
  return found;
}

function sliced(step: Step & { readonly kind: 'slice' }, list: readonly unknown[], looks: Looks): unknown[] {
  const { length } = list;
  const from = step.from < 0 ? step.from + length : step.from;
  let to = step.to ?? length;
  if (to < 0 || (to === 0 && step.isOne)) to += length;
  if (from === to) return [];
  if (from < 0 || from >= length || to < 0 || to > length || from > to || step.by <= 0)
    throw new DeadEnd('array index out of bounds');
  if (step.isOne) return [list[from]];
  looks.left -= to - from;
  return list.slice(from, to).filter((_, i) => i % step.by === 0);
}

function filtered(
  { left, comparison }: Step & { readonly kind: 'filter' },
  list: readonly unknown[],
  looks: Looks,
): unknown[] {
  return members(list, looks).filter((item) => {
    if (looks.left <= 0) return false;
    if (comparison === undefined) return isThere(left, item, looks);
    const one = onlyOne(left, item, looks);
    const other = one === undefined ? undefined : onlyOne(comparison.right, item, looks);
    if (one === undefined || other === undefined) return false;
    // Of a text as many more looks as it takes to read: the same long one may be come to again and again.
    if (typeof one[0] === 'string') looks.left -= one[0].length >>> 10;
    return isHolding(comparison.operator, one[0], other[0]);
  });
}

/** As upstream, for which something is there when it could not be looked for. */
function isThere(path: readonly Step[], item: unknown, looks: Looks): boolean {
  try {
    return all(path, item, looks).length > 0;
  } catch (error) {
    if (error instanceof DeadEnd) return true;
    throw error;
  }
}

/** undefined: there is none. */
function onlyOne(path: readonly Step[], item: unknown, looks: Looks): readonly [unknown] | undefined {
  const found = all(path, item, looks);
  if (found.length > 1) throw new DeadEnd('can only compare one element at a time');
  return found.length === 0 ? undefined : [found[0]];
}

/** Each before what it holds. */
function everyHolder(value: object, looks: Looks): object[] {
  const holders: object[] = [];
  const waiting: unknown[] = [value];
  while (waiting.length > 0 && looks.left > 0) {
    const one = waiting.pop();
    if (typeof one !== 'object' || one === null) continue;
    const held = members(one, looks);
    if (held.length === 0) continue;
    holders.push(one);
    for (let i = held.length - 1; i >= 0; i--) waiting.push(held[i]);
  }
  return holders;
}

function members(value: object, looks: Looks): unknown[] {
  const held = Object.values(value);
  looks.left -= held.length;
  return held;
}

/** In their order until `stop` says so; whether it did. No deeper than the value is. */
function walk(
  steps: readonly Step[],
  at: number,
  value: unknown,
  looks: Looks,
  stop: (found: unknown) => boolean,
): boolean {
  if (at === steps.length) return stop(value);
  return take(steps[at]!, value, looks).some((next) => walk(steps, at + 1, next, looks, stop));
}

function all(steps: readonly Step[], value: unknown, looks: Looks): unknown[] {
  const found: unknown[] = [];
  walk(steps, 0, value, looks, (one) => {
    found.push(one);
    return false;
  });
  return found;
}

const branches = ({ kind }: Step): boolean => kind !== 'name' && kind !== 'literal';
const mayEnd = ({ kind }: Step): boolean =>
  kind === 'slice' || kind === 'filter' || kind === 'several' || kind === 'word';

/** undefined: the path can't be followed. */
function followed<T>(follow: () => T): T | undefined {
  try {
    return follow();
  } catch (error) {
    if (error instanceof DeadEnd) return undefined;
    throw error;
  }
}

/** Compiles `.spec.replicas` or `{.spec.replicas}`. Throws Error for what it can't read. */
export function parseJsonPath(text: string): JsonPath {
  const steps = stepsOf(text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text);
  // Where one of many may be a dead end, which is the end of all, it is not enough to come to the first.
  const isWhole = steps.findIndex(branches) < steps.findLastIndex(mayEnd);
  return {
    find: (value) => followed(() => all(steps, value, { left: Number.POSITIVE_INFINITY })) ?? [],
    first(value, looks) {
      const found: unknown[] = [];
      const isFollowed = followed(() => {
        walk(steps, 0, value, looks, (one) => {
          if (found.length === 0) found.push(one);
          return !isWhole;
        });
        return true;
      });
      return isFollowed === undefined || looks.left <= 0 ? undefined : found[0];
    },
  };
}
