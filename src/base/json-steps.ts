// JSON in steps: a text of megabytes is read and written piece by piece, where JSON.parse and JSON.stringify stop everything.
import { put } from './put.ts';
import type { Steps } from './turns.ts';

/**
 * What is read or written in one step: a few milliseconds. Maps that are larger are put together from pieces, which costs
 * twice as much: most are not.
 */
const pieceLength = 128 * 1024;
/** Containers below so many others are written at once: to look into each costs more than writing it. */
const maxEntered = 5;

type Parse = (text: string) => unknown;
type Container = Record<string, unknown> | unknown[];

/** As `parse(text)`, which is JSON.parse or does the same; throws when it would throw, with other words. */
export function* parseSteps(text: string, parse: Parse, piece: number = pieceLength): Steps<unknown> {
  if (text.length <= piece) return parse(text);
  const reader = new PieceReader(text, parse, piece);
  while (!reader.read()) yield;
  return reader.value;
}

/** Containers that are larger than a piece are entered; what is in them is parsed in runs of members. */
class PieceReader {
  readonly #text: string;
  readonly #parse: Parse;
  readonly #piece: number;
  readonly #open: { readonly value: Container; readonly key: string }[] = [];
  #at = 0;
  /** The members that were seen and not yet parsed. */
  #from = -1;
  #to = 0;
  /** Where those containers open that did not end in what was looked through last: it is looked through once for all of them. */
  #unclosed: readonly number[] = [];
  #unclosedAt = 0;
  /** The string that was longer than what was looked through. */
  #longString = { from: -1, end: 0 };
  value: unknown;

  constructor(text: string, parse: Parse, piece: number) {
    this.#text = text;
    this.#parse = parse;
    this.#piece = piece;
  }

  /** Reads a piece; true when it was the last. */
  read(): boolean {
    const until = this.#at + this.#piece;
    while (this.#at < until) if (this.#member()) return true;
    this.#flush();
    return false;
  }

  /** Reads a value and what closes after it; true at the end of the text. */
  #member(): boolean {
    const from = this.#space();
    const top = this.#open.at(-1);
    const isNamed = top !== undefined && !Array.isArray(top.value);
    const key = isNamed ? this.#key() : undefined;
    const text = this.#text;
    const opening = text.charCodeAt(this.#at);
    const end = opening === brace || opening === bracket ? this.#endOfContainer() : this.#endOfScalar();
    if (end === undefined) {
      this.#flush();
      const name = key === undefined ? '' : (this.#parse(key) as string);
      this.#open.push({ value: opening === brace ? {} : [], key: name });
      this.#at++;
      this.#space();
      if (!this.#closes()) return false;
    } else if (top === undefined) {
      this.value = this.#parse(text);
      return true;
    } else {
      if (this.#from < 0) this.#from = from;
      this.#to = end;
      this.#at = end;
    }
    return this.#afterMember();
  }

  /** A comma, or the ends of all that end here. */
  #afterMember(): boolean {
    for (;;) {
      this.#space();
      if (this.#closes()) {
        this.#at++;
        this.#flush();
        const { value, key } = this.#open.pop()!;
        const parent = this.#open.at(-1);
        if (parent === undefined) {
          this.value = value;
          if (this.#space() < this.#text.length) throw this.#broken();
          return true;
        }
        if (Array.isArray(parent.value)) parent.value.push(value);
        else put(parent.value, key, value);
      } else if (this.#text.charCodeAt(this.#at) === comma) {
        this.#at++;
        return false;
      } else throw this.#broken();
    }
  }

  #closes(): boolean {
    const close = Array.isArray(this.#open.at(-1)!.value) ? bracket + 2 : brace + 2;
    return this.#text.charCodeAt(this.#at) === close;
  }

  #flush(): void {
    if (this.#from < 0) return;
    const members = this.#text.slice(this.#from, this.#to);
    this.#from = -1;
    const { value } = this.#open.at(-1)!;
    if (Array.isArray(value)) for (const item of this.#parse(`[${members}]`) as unknown[]) value.push(item);
    else {
      const read = this.#parse(`{${members}}`) as Record<string, unknown>;
      for (const key in read) put(value, key, read[key]);
    }
  }

  /** The text of the name, quotes included; goes on to what it names. */
  #key(): string {
    const from = this.#at;
    if (this.#text.charCodeAt(from) !== quote) throw this.#broken();
    const to = endOfString(this.#text, from) + 1;
    this.#at = to;
    if (this.#text.charCodeAt(this.#space()) !== colon) throw this.#broken();
    this.#at++;
    this.#space();
    return this.#text.slice(from, to);
  }

  #endOfScalar(): number {
    const text = this.#text;
    if (text.charCodeAt(this.#at) === quote) return endOfString(text, this.#at) + 1;
    let at = this.#at;
    while (at < text.length && !endsScalar(text.charCodeAt(at))) at++;
    if (at === this.#at) throw this.#broken();
    return at;
  }

  /** undefined: it is larger than a piece, or than what is left of the one that was looked through. What is in it is left to the parser. */
  #endOfContainer(): number | undefined {
    // They ascend, and so do the places that are asked for.
    while (this.#unclosed[this.#unclosedAt]! < this.#at) this.#unclosedAt++;
    if (this.#unclosed[this.#unclosedAt] === this.#at) return undefined;
    const text = this.#text;
    const last = Math.min(text.length, this.#at + this.#piece);
    const open: number[] = [];
    for (let at = this.#at; at < last; at++) {
      const c = text.charCodeAt(at);
      if (c === quote) at = this.#endOfString(at, last);
      else if (c === brace || c === bracket) open.push(at);
      else if (c === brace + 2 || c === bracket + 2) {
        open.pop();
        if (open.length === 0) return at + 1;
      }
    }
    this.#unclosed = open;
    this.#unclosedAt = 0;
    return undefined;
  }

  /** Each container around a string looks for its end: of megabytes it is found once. */
  #endOfString(from: number, last: number): number {
    if (from === this.#longString.from) return this.#longString.end;
    const end = endOfString(this.#text, from);
    if (end >= last) this.#longString = { from, end };
    return end;
  }

  #space(): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#at;
  }

  #broken(): SyntaxError {
    return new SyntaxError(`the JSON text is broken at position ${this.#at}`);
  }
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const brace = 0x7b;
const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
const endsScalar = (c: number): boolean =>
  c === comma || c === bracket + 2 || c === brace + 2 || isSpace(c) || c === quote || c === colon;

/** Index of the closing quote of the string that opens at `open`; the length of a text that does not close it. */
function endOfString(text: string, open: number): number {
  const first = text.indexOf('"', open + 1);
  if (first < 0) return text.length;
  if (text.charCodeAt(first - 1) !== backslash) return first;
  let at = open + 1;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) return at;
    if (c === backslash) at++;
  }
  return text.length;
}

/** The text of JSON.stringify(value) in pieces, each handed over as soon as it is there. */
export function* writeSteps(
  value: unknown,
  take: (piece: string) => void,
  piece: number = pieceLength,
): Steps<void> {
  const writer = new PieceWriter(take, piece);
  yield* writer.write(value);
  writer.end();
}

class PieceWriter {
  readonly #take: (piece: string) => void;
  readonly #length: number;
  #piece = '';

  constructor(take: (piece: string) => void, length: number) {
    this.#take = take;
    this.#length = length;
  }

  *write(value: unknown, depth = 0): Steps<void> {
    if (typeof value !== 'object' || value === null || depth === maxEntered) {
      this.#piece += JSON.stringify(value);
      return;
    }
    const isList = Array.isArray(value);
    let before = isList ? '[' : '{';
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key];
      const name = isList ? '' : `${JSON.stringify(key)}:`;
      if (typeof member === 'object' && member !== null && depth + 1 < maxEntered) {
        this.#piece += before + name;
        yield* this.write(member, depth + 1);
      } else {
        const text = JSON.stringify(member) as string | undefined;
        if (text === undefined && !isList) continue;
        this.#piece += `${before}${name}${text ?? 'null'}`;
      }
      before = ',';
      if (this.#piece.length < this.#length) continue;
      this.end();
      yield;
    }
    this.#piece += before === ',' ? (isList ? ']' : '}') : isList ? '[]' : '{}';
  }

  end(): void {
    if (this.#piece !== '') this.#take(this.#piece);
    this.#piece = '';
  }
}
