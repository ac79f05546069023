// CEL's string extension, second version: places, parts and cases of texts, counted in code points.
import { type CelType, dynType, intType, listOf, stringType } from '../cel-type.ts';
import type { FunctionDeclaration, Library, Overload } from '../declarations.ts';
import {
  type CallSite,
  type Estimate,
  plus,
  scaled,
  times,
  traversalFactor,
  unlimited,
} from '../estimate.ts';
import { type CallCosts, elementOf, readingCosts, wentThrough } from '../library-costs.ts';
import { CelError, type CelList, codePointCount, type Value, ValueList, valueSize } from '../value.ts';
import { formatValue } from '../value-text.ts';
import { formatText, validateFormat } from './string-format.ts';

const outOfRange = (index: bigint): CelError => new CelError(`index out of range: ${index}`);
/** What no budget would ever have paid for. */
const longestText = 10_000_000;
const tooDear = new CelError('operation cancelled: actual cost limit exceeded');

function charAt(text: string, index: bigint): Value {
  if (index < 0n || index > BigInt(text.length)) return outOfRange(index);
  let at = 0;
  for (let left = Number(index); left > 0; left--) {
    if (at >= text.length) return outOfRange(index);
    at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  }
  return at < text.length ? String.fromCodePoint(text.codePointAt(at)!) : '';
}

/** In code points; `from` is behind the start. */
const isAscii = (text: string): boolean => codePointCount(text) === text.length;
function indexOf(text: string, part: string, offset: bigint): Value {
  if (part === '') return offset;
  if (offset < 0n) return outOfRange(offset);
  if (isAscii(text)) return BigInt(text.indexOf(part, Number(offset)));
  const rest = [...text].slice(Number(offset)).join('');
  const found = rest.indexOf(part);
  return found === -1 ? -1n : offset + BigInt(codePointCount(rest.slice(0, found)));
}
function lastIndexOf(text: string, part: string, offset: bigint): Value {
  if (part === '') return offset;
  if (offset < 0n) return outOfRange(offset);
  const characters = [...text];
  if (offset >= BigInt(characters.length)) return -1n;
  // The part may begin at the offset and go on behind it.
  const upTo = characters.slice(0, Number(offset)).join('').length;
  const found = text.lastIndexOf(part, upTo);
  return found === -1 ? -1n : BigInt(codePointCount(text.slice(0, found)));
}

function replaced(text: string, part: string, by: string, most: bigint): Value {
  const limit = most < 0n ? Number.POSITIVE_INFINITY : Number(most);
  if (limit === 0) return text;
  // An empty part is before each character and at the end.
  const pieces = part === '' ? ['', ...text] : text.split(part);
  const joined = Math.min(pieces.length - (part === '' ? 0 : 1), limit);
  if (text.length + joined * by.length > longestText) return tooDear;
  if (part === '') return replacedBetween([...text], by, joined);
  return (
    pieces.slice(0, joined + 1).join(by) +
    pieces
      .slice(joined + 1)
      .map((piece) => part + piece)
      .join('')
  );
}
const replacedBetween = (characters: readonly string[], by: string, count: number): string =>
  characters.map((character, i) => (i < count ? by + character : character)).join('') +
  (count > characters.length ? by : '');

function split(text: string, separator: string, most: bigint): Value {
  if (most === 0n) return new ValueList([]);
  const parts = separator === '' ? [...text] : text.split(separator);
  if (most < 0n || BigInt(parts.length) <= most) return new ValueList(parts);
  const kept = parts.slice(0, Number(most) - 1);
  return new ValueList([...kept, parts.slice(kept.length).join(separator)]);
}

function substring(text: string, start: bigint, end: bigint | undefined): Value {
  const characters = [...text];
  const length = BigInt(characters.length);
  if (end !== undefined && start > end)
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0n || start > length) return outOfRange(start);
  if (end !== undefined && (end < 0n || end > length)) return outOfRange(end);
  return characters.slice(Number(start), end === undefined ? undefined : Number(end)).join('');
}

function join(list: CelList, separator: string): Value {
  const parts: string[] = [];
  let length = 0;
  for (const element of list) {
    if (typeof element !== 'string') return new CelError(`join: invalid input: ${formatValue(element)}`);
    length += element.length + separator.length;
    if (length > longestText) return tooDear;
    parts.push(element);
  }
  return parts.join(separator);
}

const quotes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
const quote = (text: string): string =>
  `"${text.replace(/[\u0007\b\f\n\r\t\v\\"]/g, (character) => quotes[character]!)}"`;

/** What Go's unicode.IsSpace calls a blank. */
const isBlank = (character: string | undefined): boolean =>
  character !== undefined &&
  /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/.test(character);
function trim(from: string): string {
  let [start, end] = [0, from.length];
  while (start < end && isBlank(from[start])) start++;
  while (end > start && isBlank(from[end - 1])) end--;
  return from.slice(start, end);
}

const text: readonly CelType[] = [stringType];
const method = (
  name: string,
  costs: Partial<CallCosts>,
  ...overloads: readonly (readonly [
    id: string,
    params: readonly CelType[],
    result: CelType,
    call: Overload['call'],
  ])[]
): FunctionDeclaration => ({
  name,
  overloads: overloads.map(([id, params, result, call]) => ({
    id,
    member: true,
    params,
    result,
    call: call!,
  })),
  ...costs,
});

/** Read once, and the result written. */
const rewritten = (estimate: CallCosts['estimate']): CallCosts => ({ ...readingCosts(2), estimate });

function estimateReplace({ target, args, sizeOf }: CallSite): ReturnType<CallCosts['estimate']> {
  if (!target || args.length < 2) return undefined;
  const size = sizeOf(target);
  const [part, by] = [sizeOf(args[0]!), sizeOf(args[1]!)];
  const bound = (all: number, piece: number, grows: boolean): [count: number, kept: number] => {
    if (piece === 0) return [all < unlimited ? all + 1 : all, all];
    return grows ? [Math.ceil(all / piece), 0] : [0, all];
  };
  const [most, keptMost] = bound(size.max, part.min, by.max > part.min);
  const [least, keptLeast] = bound(size.min, part.max, part.max > by.min);
  const result = plus(times({ min: least, max: most }, by), { min: keptLeast, max: keptMost });
  return { cost: scaled(size, 2 * traversalFactor), size: result };
}

function estimateSplit({ target, args, sizeOf }: CallSite): ReturnType<CallCosts['estimate']> {
  if (!target) return undefined;
  const size = sizeOf(target);
  const limit = args[1]?.expr;
  const most = limit?.kind === 'literal' && typeof limit.value === 'bigint' ? Number(limit.value) : size.max;
  return { cost: scaled(size, 2 * traversalFactor), size: { min: 0, max: most < 0 ? unlimited : most } };
}

function estimateJoin({ target, args, sizeOf }: CallSite): ReturnType<CallCosts['estimate']> {
  if (!target) return undefined;
  const count = sizeOf(target);
  const element = elementOf(target);
  const texts: Estimate = element ? times(count, sizeOf(element)) : { min: 0, max: 0 };
  const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const size = args[0] ? plus(texts, times(sizeOf(args[0]), between)) : texts;
  return { cost: scaled(size, traversalFactor), size };
}

const listOfText = listOf(stringType);
const functions: readonly FunctionDeclaration[] = [
  method('charAt', {}, ['string_char_at_int', [stringType, intType], stringType, charAt]),
  method(
    'indexOf',
    wentThrough,
    [
      'string_index_of_string',
      [stringType, stringType],
      intType,
      (a: string, b: string) => indexOf(a, b, 0n),
    ],
    ['string_index_of_string_int', [stringType, stringType, intType], intType, indexOf],
  ),
  method(
    'lastIndexOf',
    wentThrough,
    [
      'string_last_index_of_string',
      [stringType, stringType],
      intType,
      (a: string, b: string) => {
        const size = BigInt(codePointCount(a));
        if (b === '') return size;
        return a.length < b.length ? -1n : lastIndexOf(a, b, size - 1n);
      },
    ],
    ['string_last_index_of_string_int', [stringType, stringType, intType], intType, lastIndexOf],
  ),
  method('lowerAscii', readingCosts(1, true), [
    'string_lower_ascii',
    text,
    stringType,
    (a: string) => a.replace(/[A-Z]/g, (character) => character.toLowerCase()),
  ]),
  method('upperAscii', readingCosts(1, true), [
    'string_upper_ascii',
    text,
    stringType,
    (a: string) => a.replace(/[a-z]/g, (character) => character.toUpperCase()),
  ]),
  method('trim', readingCosts(1, true), ['string_trim', text, stringType, trim]),
  method(
    'replace',
    rewritten(estimateReplace),
    [
      'string_replace_string_string',
      [stringType, stringType, stringType],
      stringType,
      (a: string, b: string, c: string) => replaced(a, b, c, -1n),
    ],
    ['string_replace_string_string_int', [stringType, stringType, stringType, intType], stringType, replaced],
  ),
  method(
    'split',
    rewritten(estimateSplit),
    ['string_split_string', [stringType, stringType], listOfText, (a: string, b: string) => split(a, b, -1n)],
    ['string_split_string_int', [stringType, stringType, intType], listOfText, split],
  ),
  method(
    'substring',
    readingCosts(1, true),
    ['string_substring_int', [stringType, intType], stringType, substring],
    ['string_substring_int_int', [stringType, intType, intType], stringType, substring],
  ),
  method(
    'join',
    {
      cost: (_args, result) => Math.ceil(valueSize(result) * 2 * traversalFactor),
      estimate: estimateJoin,
    },
    ['list_join', [listOfText], stringType, (list: CelList) => join(list, '')],
    ['list_join_string', [listOfText, stringType], stringType, join],
  ),
  method('format', {}, ['string_format', [stringType, listOf(dynType)], stringType, formatText]),
  {
    name: 'strings.quote',
    overloads: [{ id: 'strings_quote', params: text, result: stringType, call: quote }],
  },
];

export const stringsLibrary: Library = { name: 'cel.lib.ext.strings', functions, validate: validateFormat };
