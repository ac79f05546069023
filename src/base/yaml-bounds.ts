// Bounds the work that a YAML text may cause, token by token, before anything is built from the next one.
import { Lexer } from 'yaml';

/**
 * What one text may consist of: tokens, and lines within them. The largest definitions in use have 140,000 in 1.6 MB; a reader
 * that builds a node for each of millions would hold its process for many seconds.
 */
const maxTokens = 250_000;
const maxDepth = 500;
const maxAnchors = 1000;
/** A float64 has at most 309 digits before its point. More are read in quadratic time. */
const maxNumberLength = 400;

const scalarFollows = '\x1f';
const isControl = (token: string): boolean =>
  token === scalarFollows || token === '\x02' || token === '\x18' || token === '\ufeff';
const number = /^[-+]?(?:0x[\da-f]+|0o[0-7]+|[\d.]+(?:e[-+]?\d+)?)$/i;

/** The text's tokens, as far as they are asked for. Throws at the first one that is too much. */
export function* boundedTokens(text: string): Generator<string> {
  const place = new Place();
  const depth = new Depth();
  const scalars = new Scalars();
  let tokens = 0;
  let anchors = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    depth.see(token, place.column);
    scalars.see(token, place);
    if (token.startsWith('&') && ++anchors > maxAnchors)
      throw new Error('document contains excessive aliasing');
    if (!isControl(token)) tokens += place.pass(token);
    if (tokens > maxTokens) throw new Error('the document is too complex');
    yield token;
  }
}

class Place {
  line = 1;
  column = 0;

  /** Returns how many lines end in the token. */
  pass(token: string): number {
    let lines = 0;
    let from = 0;
    for (let at = token.indexOf('\n'); at >= 0; at = token.indexOf('\n', from)) {
      lines += 1;
      from = at + 1;
    }
    this.line += lines;
    this.column = lines === 0 ? this.column + token.length : token.length - from;
    return lines;
  }
}

/** How many collections are open: those in brackets, and the columns at which something stands. */
class Depth {
  #brackets = 0;
  readonly #columns: number[] = [];
  #afterNode = false;

  see(token: string, column: number): void {
    if (token === '{' || token === '[') this.#brackets += 1;
    else if (token === '}' || token === ']') this.#brackets -= 1;
    else if (this.#brackets === 0 && this.#opens(token)) this.#open(column);
    if (this.#brackets + this.#columns.length > maxDepth) throw new Error('exceeded max depth');
    if (token.trim() !== '') this.#afterNode = token !== '-' && token !== '?' && token !== ':';
    else if (token.includes('\n')) this.#afterNode = false;
  }

  #opens(token: string): boolean {
    return token === '-' || token === '?' || token === scalarFollows || (token === ':' && !this.#afterNode);
  }
  #open(column: number): void {
    const columns = this.#columns;
    while (columns.length > 0 && columns[columns.length - 1]! > column) columns.pop();
    if (columns[columns.length - 1] !== column) columns.push(column);
  }
}

/** Refuses numbers that no float64 holds: a plain scalar that looks like one, or one with a tag that may say so. */
class Scalars {
  #plain = false;
  #block = false;
  #tag = '';
  /** A %TAG directive may have made any tag stand for any other. */
  #named = false;

  /** Only these are read as numbers whatever they look like, and by other names only after a directive. */
  #mayBeNumber(): boolean {
    const tag = this.#tag;
    if (tag === '' || tag === '!' || tag === '!!str' || tag === '!!binary') return false;
    return this.#named || tag.startsWith('!!') || tag.startsWith('!<');
  }

  see(token: string, { line }: Place): void {
    if (token === scalarFollows) {
      this.#plain = true;
      return;
    }
    const first = token[0];
    if (first === '%' && !this.#plain) this.#named ||= token.startsWith('%TAG');
    else if (first === '!' && !this.#plain) this.#tag = token;
    else if ((first === '|' || first === '>') && !this.#plain) this.#block = true;
    else if (this.#plain || first === '"' || first === "'") {
      const text = this.#mayBeNumber();
      const looks = this.#plain && !this.#block && number.test(token);
      if (token.length > maxNumberLength && (text || looks)) {
        const value = token.trimStart().slice(0, 7);
        throw new Error(
          `unmarshal errors:\n  line ${line}: cannot unmarshal ${text ? this.#tag : '!!int'} \`${value}...\` into float64`,
        );
      }
      this.#plain = false;
      this.#block = false;
      this.#tag = '';
    } else if (first === ':' || first === ',' || first === '-') this.#tag = '';
  }
}
