// What string, bytes and number literals say.

/** Thrown with cel-go's words; the parser reports it at the literal. */
export class LiteralError extends Error {}

const simple: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '`': 96,
  '?': 63,
};
const isScalar = (code: number): boolean => code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);

/** Without prefix and quotes; `undefined` where nothing is escaped. */
function bodyOf(token: string): { body: string; raw: boolean } {
  // Every line ends alike, whatever the system on which it was written.
  const text = token.replace(/\r\n?/g, '\n');
  const raw = /^r/i.test(text);
  const quoted = raw ? text.slice(1) : text;
  const isLong = quoted.length >= 6 && /^("""|''')/.test(quoted);
  const width = isLong ? 3 : 1;
  return { body: quoted.slice(width, quoted.length - width), raw };
}

/** One escape behind its backslash: how many characters it has, the code, and whether that is a byte rather than a character. */
function readEscape(
  body: string,
  at: number,
  bytes: boolean,
): { length: number; code: number; byte: boolean } {
  const letter = body[at]!;
  const known = Object.hasOwn(simple, letter) ? simple[letter] : undefined;
  if (known !== undefined) return { length: 1, code: known, byte: false };
  const digits = { x: 2, X: 2, u: 4, U: 8 }[letter];
  if (digits !== undefined) {
    if (bytes && digits > 2) throw new LiteralError('unable to unescape string');
    const code = Number.parseInt(body.slice(at + 1, at + 1 + digits), 16);
    if (!bytes && !isScalar(code)) throw new LiteralError('invalid unicode code point');
    return { length: 1 + digits, code, byte: bytes };
  }
  return { length: 3, code: Number.parseInt(body.slice(at, at + 3), 8), byte: bytes };
}

export function unescapeText(token: string): string {
  const { body, raw } = bodyOf(token);
  if (raw || !body.includes('\\')) return body;
  let text = '';
  for (let at = 0; at < body.length; ) {
    if (body[at] !== '\\') {
      text += body[at++];
      continue;
    }
    const { length, code } = readEscape(body, at + 1, false);
    text += String.fromCodePoint(code);
    at += 1 + length;
  }
  return text;
}

/** Of a literal without its `b`. */
export function unescapeBytes(token: string): Uint8Array {
  const { body, raw } = bodyOf(token);
  const parts: number[] = [];
  const encoder = new TextEncoder();
  for (let at = 0; at < body.length; ) {
    if (raw || body[at] !== '\\') {
      const character = String.fromCodePoint(body.codePointAt(at)!);
      parts.push(...encoder.encode(character));
      at += character.length;
      continue;
    }
    const { length, code } = readEscape(body, at + 1, true);
    parts.push(code);
    at += 1 + length;
  }
  return Uint8Array.from(parts);
}

/** Of `12` and `0x1f`, with its sign. */
export function readInteger(digits: string, negative: boolean): bigint {
  const value = BigInt(digits);
  return negative ? -value : value;
}
