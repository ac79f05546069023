// Values as Go prints them: where upstream's messages hold what a client sent.
import type { Json, JsonObject } from './json.ts';

const isMap = (value: Json | undefined): value is { readonly [key: string]: Json | undefined } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An answer is not as long as what it refuses. */
const mostText = 2_000;

function bounded(parts: Iterable<string>): string {
  let text = '';
  for (const part of parts) {
    text += part;
    if (text.length > mostText) return `${text.slice(0, mostText)}...`;
  }
  return text;
}

/** `%v`: `map[a:1 b:x]`, keys sorted. Ends in `...` where it is very long. */
export const goValue = (value: Json | undefined): string => bounded(valueParts(value));

function* valueParts(value: Json | undefined): Iterable<string> {
  if (Array.isArray(value)) {
    yield '[';
    for (const [i, item] of value.entries()) {
      if (i > 0) yield ' ';
      yield* valueParts(item);
    }
    yield ']';
  } else if (isMap(value)) {
    yield 'map[';
    for (const [i, key] of Object.keys(value).sort().entries()) {
      yield `${i > 0 ? ' ' : ''}${key}:`;
      yield* valueParts(value[key]);
    }
    yield ']';
  } else yield value === null || value === undefined ? '<nil>' : String(value);
}

/** JSON of an object that is wrong. Ends in `...` where it is very long. */
export const goText = (value: JsonObject): string => bounded([JSON.stringify(value)]);

/** `%#v`: `map[string]interface {}{"a":1}`. Ends in `...` where it is very long. */
export const goSyntax = (value: Json | undefined): string => bounded(syntaxParts(value));

function* syntaxParts(value: Json | undefined): Iterable<string> {
  if (Array.isArray(value)) {
    yield '[]interface {}{';
    for (const [i, item] of value.entries()) {
      if (i > 0) yield ', ';
      yield* syntaxParts(item);
    }
    yield '}';
  } else if (isMap(value)) {
    yield 'map[string]interface {}{';
    for (const [i, key] of Object.keys(value).sort().entries()) {
      yield `${i > 0 ? ', ' : ''}${JSON.stringify(key)}:`;
      yield* syntaxParts(value[key]);
    }
    yield '}';
  } else if (value === null || value === undefined) yield 'interface {}(nil)';
  else yield typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** `%T` of what was read from JSON. */
export function goTypeOf(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isMap(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'bigint' ? 'int64' : 'string';
}

const named: Readonly<Record<string, string>> = { '07': '\\a', '0b': '\\v' };

function unprinted(char: string): string {
  const hex = char.codePointAt(0)!.toString(16);
  if (hex.length <= 2 && char < '\x80') return `\\x${hex}`;
  return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** `%q`: as JSON has it, but for what nobody could see. */
export function goQuote(text: string): string {
  const json = JSON.stringify(text);
  if (/^[\x20-\x7e]*$/.test(json) && !json.includes('\\u')) return json;
  return json
    .replace(/\\(?:\\|u00([01][0-9a-f]))/g, (all, hex?: string) =>
      hex === undefined ? all : (named[hex] ?? `\\x${hex}`),
    )
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, unprinted);
}

/** `%q` of texts: `["a" "b"]`. */
export const goQuoted = (texts: readonly string[]): string => `[${texts.map(goQuote).join(' ')}]`;
