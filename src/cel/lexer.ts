// Words of CEL. What is no word is an issue, in the words of the lexer that cel-go is generated from.
import type { Issues } from './source.ts';

/** Named as messages name them, in the order in which messages list them. */
export const tokenKinds = [
  'EOF',
  '==',
  '!=',
  'in',
  '<',
  '<=',
  '>=',
  '>',
  '&&',
  '||',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
  '+',
  '*',
  '/',
  '%',
  'true',
  'false',
  'null',
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
  'ESC_IDENTIFIER',
] as const;
export type TokenKind = (typeof tokenKinds)[number];

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

const keywords: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);
const symbols: readonly TokenKind[] = [
  ...(['==', '!=', '<=', '>=', '&&', '||'] as const),
  ...(['<', '>', '[', ']', '{', '}', '(', ')', '.', ',', '-', '!', '?', ':', '+', '*', '/', '%'] as const),
];

const blank = /(?:[\t \r\n\f]+|\/\/[^\n]*)+/y;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const escapedIdentifier = /`[A-Za-z0-9_.\-/ ]+`/y;
const float = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|\d+)/y;

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
};

export function lexExpression(text: string, issues: Issues): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(blank, text, at)?.length ?? 0;
    if (at >= text.length) break;
    const token = tokenAt(text, at);
    if (token) {
      tokens.push(token);
      at += token.text.length;
    } else at = skipUnknown(text, at, issues);
  }
  tokens.push({ kind: 'EOF', text: '<EOF>', at: text.length });
  return tokens;
}

function tokenAt(text: string, at: number): Token | undefined {
  const quoted = quotedAt(text, at);
  if (quoted?.closed)
    return { kind: quoted.bytes ? 'BYTES' : 'STRING', text: text.slice(at, quoted.end), at };
  const name = matchAt(identifier, text, at);
  if (name !== undefined)
    return { kind: keywords.has(name) ? (name as TokenKind) : 'IDENTIFIER', text: name, at };
  const number = numberAt(text, at);
  if (number) return number;
  const escaped = matchAt(escapedIdentifier, text, at);
  if (escaped !== undefined) return { kind: 'ESC_IDENTIFIER', text: escaped, at };
  const symbol = symbols.find((one) => text.startsWith(one, at));
  return symbol && { kind: symbol, text: symbol, at };
}

function numberAt(text: string, at: number): Token | undefined {
  const real = matchAt(float, text, at);
  const whole = matchAt(integer, text, at);
  // The longest wins.
  if (real !== undefined && real.length > (whole?.length ?? 0)) return { kind: 'NUM_FLOAT', text: real, at };
  if (whole === undefined) return undefined;
  const suffix = text[at + whole.length];
  return suffix === 'u' || suffix === 'U'
    ? { kind: 'NUM_UINT', text: whole + suffix, at }
    : { kind: 'NUM_INT', text: whole, at };
}

interface Quoted {
  readonly bytes: boolean;
  readonly closed: boolean;
  /** Behind what belongs to it. */
  readonly end: number;
}

const prefix = /[bB]?[rR]?(?="""|'''|"|')/y;

/** A string or bytes literal that begins here; not `closed`: `end` is where it cannot go on. */
function quotedAt(text: string, at: number): Quoted | undefined {
  const lead = matchAt(prefix, text, at);
  if (lead === undefined) return undefined;
  const bytes = /^b/i.test(lead);
  const raw = /r$/i.test(lead);
  const open = at + lead.length;
  const quote = text[open]!;
  if (text.startsWith(quote.repeat(3), open)) {
    const long = closing(text, open + 3, quote.repeat(3), raw);
    // Without an end it is an empty text, and something after it.
    return long.closed ? { bytes, ...long } : { bytes, closed: true, end: open + 2 };
  }
  return { bytes, ...closing(text, open + 1, quote, raw) };
}

const wholeEscape =
  /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;
/** As much of an escape as there is. */
const escapeBegun = /\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?/y;

function closing(text: string, from: number, quote: string, raw: boolean): { closed: boolean; end: number } {
  const isShort = quote.length === 1;
  let at = from;
  while (at < text.length) {
    if (text.startsWith(quote, at)) return { closed: true, end: at + quote.length };
    const character = text[at]!;
    if (isShort && (character === '\n' || character === '\r')) return { closed: false, end: at };
    if (character === '\\' && !raw) {
      const whole = matchAt(wholeEscape, text, at);
      if (whole === undefined) return { closed: false, end: at + matchAt(escapeBegun, text, at)!.length };
      at += whole.length;
    } else at++;
  }
  return { closed: false, end: at };
}

/** Signs of which one alone is nothing, two are an operator. */
const halves: ReadonlySet<string> = new Set(['=', '&', '|']);
const nameInQuotes = /`[A-Za-z0-9_.\-/ ]*/y;

/** What could have become a word, and the character at which it did not, are told and left out. */
function skipUnknown(text: string, at: number, issues: Issues): number {
  const begun =
    quotedAt(text, at)?.end ??
    at + (matchAt(nameInQuotes, text, at)?.length ?? Number(halves.has(text[at]!)));
  const end = Math.min(text.length, begun + (text.codePointAt(begun)! > 0xffff ? 2 : 1));
  issues.report(at, `Syntax error: token recognition error at: '${shownInMessages(text.slice(at, end))}'`);
  return end;
}

/** Line ends and tabs as escapes. */
export const shownInMessages = (text: string): string =>
  text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
