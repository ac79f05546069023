// The part of JSONPath that printer columns and selectable fields use: names, indices, slices, several of them, wildcards, filters and what is at any depth.

type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  /** `..`: itself and all that it holds, but for what holds nothing. */
  | { readonly kind: 'any depth' }
  | { readonly kind: 'slice'; readonly from: number; readonly to: number | undefined; readonly by: number }
  | { readonly kind: 'several'; readonly steps: readonly Step[] }
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      readonly holds: (found: unknown) => boolean;
      /** It holds when nothing that is found says otherwise. */
      readonly negated: boolean;
    };

export interface JsonPath {
  /** All values that the path leads to. */
  find(value: unknown): unknown[];
  /** The first of them; undefined when there is none, or when too much had to be looked at. */
  first(value: unknown, looks: Looks): unknown;
}

const comparisons: Readonly<Record<string, (a: string | number, b: string | number) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

/** Each level is read as often as there are levels around it. */
const mostFiltersWithin = 32;

/** `?(@.path == value)`, `?(@.path)`; undefined for what is no filter. */
function filterStep(text: string, depth: number): Step | undefined {
  if (!text.startsWith('?(') || !text.endsWith(')')) return undefined;
  const inner = text.slice(2, -1).trim();
  if (!inner.startsWith('@')) return undefined;
  if (depth >= mostFiltersWithin) throw new Error('too many filters within each other');
  const [operator = '', at = inner.length] = operatorOf(inner);
  const path = stepsOf(inner.slice(1, at).trimEnd(), depth + 1);
  if (operator === '') return { kind: 'filter', path, holds: () => true, negated: false };
  const value = literal(inner.slice(at + operator.length).trim());
  const compare = comparisons[operator];
  if (compare === undefined)
    return { kind: 'filter', path, holds: (found) => found === value, negated: operator === '!=' };
  const isSame = (found: unknown): found is string | number =>
    typeof found === typeof value && (typeof found === 'string' || typeof found === 'number');
  const holds = (found: unknown): boolean => isSame(found) && compare(found, value as string | number);
  return { kind: 'filter', path, holds, negated: false };
}

/** The first comparison, and where it stands. */
function operatorOf(text: string): [string, number] | [] {
  const found = /==|!=|<=|>=|<|>/.exec(text);
  return found === null ? [] : [found[0], found.index];
}

function literal(text: string): unknown {
  const quoted = /^(["'])(.*)\1$/s.exec(text);
  if (quoted) return quoted[2];
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : number;
}

/** Of a list alone, as all in brackets but names. */
const wholeList: Step = { kind: 'slice', from: 0, to: undefined, by: 1 };

function bracketStep(text: string, depth: number): Step {
  if (text === '*') return wholeList;
  const filter = filterStep(text, depth);
  if (filter !== undefined) return filter;
  const slice = /^(-?\d*):(-?\d*)(?::(\d+))?$/.exec(text);
  if (slice !== null) {
    const [, from = '', to = '', by = '1'] = slice;
    return {
      kind: 'slice',
      from: Number(from),
      to: to === '' ? undefined : Number(to),
      by: Math.max(Number(by), 1),
    };
  }
  const several = text.split(',');
  if (several.length > 1 && several.every((one) => /^\s*(?:-?\d+|'[^']*'|"[^"]*")\s*$/.test(one)))
    return { kind: 'several', steps: several.map((one) => bracketStep(one.trim(), depth)) };
  if (/^-?\d+$/.test(text)) return { kind: 'index', index: Number(text) };
  const name = literal(text);
  if (typeof name !== 'string') throw new Error(`unsupported step [${text}]`);
  return { kind: 'name', name };
}

/** Where the bracket that opens at `from` closes; quotes and inner brackets are skipped. */
function closingBracket(text: string, from: number): number {
  let quote = '';
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== '') {
      if (c === quote) quote = '';
    } else if (c === '"' || c === "'") quote = c;
    else if (c === '[') depth++;
    else if (c === ']' && --depth === 0) return i;
  }
  throw new Error('unterminated array');
}

function stepsOf(text: string, depth = 0): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < text.length; ) {
    if (text[i] === '[') {
      const end = closingBracket(text, i);
      steps.push(bracketStep(text.slice(i + 1, end).trim(), depth));
      i = end + 1;
      continue;
    }
    if (text.startsWith('..', i)) {
      if (steps.at(-1)?.kind === 'any depth') throw new Error('invalid multiple recursive descent');
      steps.push({ kind: 'any depth' });
      i += 2;
      if (text[i] === '*') throw new Error('unrecognized character in action: *');
      if (text[i] === '.' || text[i] === '[') continue;
    } else if (text[i] === '.') i++;
    let name = '';
    while (i < text.length && text[i] !== '.' && text[i] !== '[') {
      if (text[i] === '\\' && i + 1 < text.length) i++;
      name += text[i];
      i++;
    }
    if (name === '*') steps.push({ kind: 'all' });
    else if (name !== '') steps.push({ kind: 'name', name });
  }
  return steps;
}

/** What may still be looked at. */
export interface Looks {
  left: number;
}

function take(step: Step, value: unknown, looks: Looks): unknown[] {
  if (typeof value !== 'object' || value === null || looks.left <= 0) return [];
  looks.left--;
  switch (step.kind) {
    case 'name':
      return Object.hasOwn(value, step.name) ? [(value as Record<string, unknown>)[step.name]] : [];
    case 'index': {
      const item = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'all':
      return members(value, looks);
    case 'any depth':
      return everyHolder(value, looks);
    case 'slice': {
      if (!Array.isArray(value)) return [];
      looks.left -= value.length;
      return value.slice(step.from, step.to).filter((_, i) => i % step.by === 0);
    }
    case 'several': {
      const found: unknown[] = [];
      for (const one of step.steps) {
        const taken = take(one, value, looks);
        // As upstream: one that is not there spoils the others.
        if (taken.length === 0) return [];
        found.push(taken[0]);
      }
      return found;
    }
    default:
      return members(value, looks).filter(
        (item) => walk(step.path, 0, item, looks, (found) => compared(step, found, looks)) !== step.negated,
      );
  }
}

/** Of a text as many more looks as it takes to read: the same long one may be come to again and again. */
function compared({ holds }: Step & { readonly kind: 'filter' }, found: unknown, looks: Looks): boolean {
  if (typeof found === 'string') looks.left -= found.length >>> 10;
  return holds(found);
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
  const all = Object.values(value);
  looks.left -= all.length;
  return all;
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

/** Compiles `.spec.replicas` or `{.spec.replicas}`. Throws Error for what it can't read. */
export function parseJsonPath(text: string): JsonPath {
  const inner = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  const steps = stepsOf(inner.startsWith('$') ? inner.slice(1) : inner);
  return {
    find(value) {
      const found: unknown[] = [];
      walk(steps, 0, value, { left: Number.POSITIVE_INFINITY }, (one) => {
        found.push(one);
        return false;
      });
      return found;
    },
    first(value, looks) {
      let first: unknown;
      walk(steps, 0, value, looks, (one) => {
        first = one;
        return true;
      });
      return looks.left <= 0 ? undefined : first;
    },
  };
}
