// The part of JSONPath that printer columns and selectable fields use: names, indices, wildcards and one filter.

type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      readonly equal: boolean;
      readonly value: unknown;
    };

export interface JsonPath {
  /** All values that the path leads to. */
  find(value: unknown): unknown[];
  /** The first of them; undefined when there is none, or when too much had to be looked at. */
  first(value: unknown, looks: Looks): unknown;
}

/** `?(@.path == value)`; undefined for what is no filter. */
function filterStep(text: string): Step | undefined {
  if (!text.startsWith('?(') || !text.endsWith(')')) return undefined;
  const inner = text.slice(2, -1).trim();
  const at = inner.search(/[=!]/);
  const operator = inner.slice(at, at + 2);
  if (!inner.startsWith('@') || (operator !== '==' && operator !== '!=')) return undefined;
  return {
    kind: 'filter',
    path: stepsOf(inner.slice(1, at).trimEnd()),
    equal: operator === '==',
    value: literal(inner.slice(at + 2).trim()),
  };
}

function literal(text: string): unknown {
  const quoted = /^(["'])(.*)\1$/s.exec(text);
  if (quoted) return quoted[2];
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : number;
}

function bracketStep(text: string): Step {
  if (text === '*') return { kind: 'all' };
  const filter = filterStep(text);
  if (filter !== undefined) return filter;
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

function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < text.length; ) {
    if (text[i] === '[') {
      const end = closingBracket(text, i);
      steps.push(bracketStep(text.slice(i + 1, end).trim()));
      i = end + 1;
      continue;
    }
    if (text[i] === '.') i++;
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
    default:
      return members(value, looks).filter(
        (item) => walk(step.path, 0, item, looks, (found) => found === step.value) === step.equal,
      );
  }
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
