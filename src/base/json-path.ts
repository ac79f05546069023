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

function take(step: Step, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  switch (step.kind) {
    case 'name':
      return Object.hasOwn(value, step.name) ? [(value as Record<string, unknown>)[step.name]] : [];
    case 'index': {
      const item = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'all':
      return Object.values(value);
    default:
      return Object.values(value).filter(
        (item) => walk(step.path, item).some((found) => found === step.value) === step.equal,
      );
  }
}

const walk = (steps: readonly Step[], value: unknown): unknown[] =>
  steps.reduce<unknown[]>((found, step) => found.flatMap((one) => take(step, one)), [value]);

/** Compiles `.spec.replicas` or `{.spec.replicas}`. Throws Error for what it can't read. */
export function parseJsonPath(text: string): JsonPath {
  const inner = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  const steps = stepsOf(inner.startsWith('$') ? inner.slice(1) : inner);
  return { find: (value) => walk(steps, value) };
}
