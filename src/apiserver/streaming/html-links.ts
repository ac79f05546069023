// Rewrites the URLs in a page while it passes: all but the URLs goes on byte for byte, as soon as it comes.
import type { PullBody } from '../http.ts';

/** Attributes that hold a URL, by tag: upstream's atomsToAttrs. */
const urlAttributes: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href']],
  ['applet', ['codebase']],
  ['area', ['href']],
  ['audio', ['src']],
  ['base', ['href']],
  ['blockquote', ['cite']],
  ['body', ['background']],
  ['button', ['formaction']],
  ['command', ['icon']],
  ['del', ['cite']],
  ['embed', ['src']],
  ['form', ['action']],
  ['frame', ['longdesc', 'src']],
  ['head', ['profile']],
  ['html', ['manifest']],
  ['iframe', ['longdesc', 'src']],
  ['img', ['longdesc', 'src', 'usemap']],
  ['input', ['src', 'usemap', 'formaction']],
  ['ins', ['cite']],
  ['link', ['href']],
  ['object', ['classid', 'codebase', 'data', 'usemap']],
  ['q', ['cite']],
  ['script', ['src']],
  ['source', ['src']],
  ['video', ['poster', 'src']],
]);

/** Their text is no markup until they end. */
const rawText: ReadonlySet<string> = new Set([
  ...['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes'],
]);

/** A URL longer than this is passed on as it is: it would have to be kept until it ends. */
const maxUrlBytes = 64 * 1024;
/** No name of a tag or attribute that matters here is longer. */
const maxNameLength = 16;

const isSpace = (c: string): boolean => c === ' ' || c === '\n' || c === '\t' || c === '\r' || c === '\f';
const isLetter = (c: string): boolean => (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

/** Reads from `at`, and answers how far. It gets what has come and nothing before: what matters of that is in the object. */
type Reader = (text: string, at: number) => number;

/**
 * What a browser's tokenizer sees of tags, piece by piece: each byte is looked at once, and only a URL is kept until it
 * ends. Bytes stand for characters one by one: whatever the page's encoding is, it stays.
 */
export class HtmlLinks {
  readonly #rewrite: (url: string) => string;
  #read: Reader;
  #out = '';
  /** What lies before it in this chunk is in `#out`. */
  #from = 0;
  /** Of the tag, or the attribute, that is read now; in small letters. */
  #name = '';
  #key = '';
  #closes = false;
  #urls: readonly string[] = [];
  /** Which element's text is passed over. */
  #within = '';
  #quote = '';
  /** The URL so far; undefined: no value that is rewritten. */
  #held: string | undefined;
  #dashes = 0;

  constructor(rewrite: (url: string) => string) {
    this.#rewrite = rewrite;
    this.#read = this.#text;
  }

  /** What can be passed on after `chunk`. */
  push(chunk: Buffer): Buffer {
    const text = chunk.toString('latin1');
    this.#from = 0;
    for (let at = 0; at < text.length; ) at = this.#read(text, at);
    const rest = text.slice(this.#from);
    if (this.#held === undefined) this.#out += rest;
    else this.#held += rest;
    if (this.#held !== undefined && this.#held.length > maxUrlBytes) {
      this.#out += this.#held;
      this.#held = undefined;
    }
    return this.#passed();
  }

  end(): Buffer {
    this.#out += this.#held ?? '';
    this.#held = undefined;
    return this.#passed();
  }

  #passed(): Buffer {
    const out = Buffer.from(this.#out, 'latin1');
    this.#out = '';
    return out;
  }

  readonly #text: Reader = (text, at) => {
    const from = text.indexOf('<', at);
    if (from < 0) return text.length;
    this.#read = this.#opened;
    return from + 1;
  };

  /** Behind a `<`. */
  readonly #opened: Reader = (text, at) => {
    const c = text[at]!;
    this.#name = '';
    this.#closes = c === '/';
    if (this.#closes) this.#read = this.#closing;
    else if (this.#within !== '') this.#read = this.#text;
    else if (c === '!') {
      this.#dashes = 0;
      this.#read = this.#declared;
    } else if (isLetter(c)) this.#read = this.#tagName;
    else this.#read = this.#text;
    return c === '/' || c === '!' ? at + 1 : at;
  };

  readonly #closing: Reader = (text, at) => {
    this.#read = isLetter(text[at]!) ? this.#tagName : this.#text;
    return at;
  };

  /** Behind `<!`: a comment begins with two dashes; anything else is passed like text. */
  readonly #declared: Reader = (text, at) => {
    if (text[at] !== '-') {
      this.#read = this.#text;
      return at;
    }
    if (++this.#dashes === 2) this.#read = this.#comment;
    return at + 1;
  };

  /** Ends behind `-->` or `--!>`; the dashes of its beginning count. */
  readonly #comment: Reader = (text, at) => {
    const c = text[at]!;
    if (c === '>' && this.#dashes >= 2) this.#read = this.#text;
    else if (c === '-') this.#dashes = this.#dashes < 2 ? this.#dashes + 1 : 2;
    else if (c !== '!' || this.#dashes !== 2) this.#dashes = 0;
    else this.#dashes = 3;
    return at + 1;
  };

  readonly #tagName: Reader = (text, at) => {
    const c = text[at]!;
    if (!isSpace(c) && c !== '/' && c !== '>') {
      if (this.#name.length <= maxNameLength) this.#name += c.toLowerCase();
      // In the text of an element only its own end is a tag.
      if (this.#within !== '' && !this.#within.startsWith(this.#name)) this.#read = this.#text;
      return this.#read === this.#text && c === '<' ? at : at + 1;
    }
    if (this.#within !== '' && this.#name !== this.#within) {
      this.#read = this.#text;
      return at;
    }
    this.#within = '';
    this.#urls = this.#closes ? [] : (urlAttributes.get(this.#name) ?? []);
    this.#read = this.#attributes;
    return at;
  };

  /** Between attributes. */
  readonly #attributes: Reader = (text, at) => {
    const c = text[at]!;
    if (c === '>') return this.#tagEnd(at);
    if (isSpace(c) || c === '/') return at + 1;
    this.#key = c.toLowerCase();
    this.#read = this.#attributeName;
    return at + 1;
  };

  readonly #attributeName: Reader = (text, at) => {
    const c = text[at]!;
    if (isSpace(c) || c === '=' || c === '/' || c === '>') {
      this.#read = this.#equals;
      return at;
    }
    if (this.#key.length <= maxNameLength) this.#key += c.toLowerCase();
    return at + 1;
  };

  /** Behind an attribute's name. */
  readonly #equals: Reader = (text, at) => {
    const c = text[at]!;
    if (isSpace(c)) return at + 1;
    this.#read = c === '=' ? this.#value : this.#attributes;
    return c === '=' ? at + 1 : at;
  };

  /** Where a value begins. */
  readonly #value: Reader = (text, at) => {
    const c = text[at]!;
    if (isSpace(c)) return at + 1;
    if (c === '>') return this.#tagEnd(at);
    const quoted = c === '"' || c === "'";
    this.#quote = quoted ? c : '';
    this.#read = quoted ? this.#quoted : this.#bare;
    const begin = quoted ? at + 1 : at;
    if (this.#urls.includes(this.#key)) {
      this.#pass(text, begin);
      this.#held = '';
    }
    return begin;
  };

  readonly #quoted: Reader = (text, at) => {
    const end = text.indexOf(this.#quote, at);
    if (end < 0) return text.length;
    this.#valueEnd(text, end);
    return end + 1;
  };

  readonly #bare: Reader = (text, at) => {
    const c = text[at]!;
    if (!isSpace(c) && c !== '>') return at + 1;
    this.#valueEnd(text, at);
    return at;
  };

  #valueEnd(text: string, end: number): void {
    this.#read = this.#attributes;
    if (this.#held === undefined) return;
    const url = this.#rewrite(this.#held + text.slice(this.#from, end));
    this.#held = undefined;
    this.#from = end;
    this.#out += this.#quote === '' ? `"${url.replaceAll('"', '&quot;')}"` : url;
  }

  #tagEnd(at: number): number {
    if (!this.#closes && rawText.has(this.#name)) this.#within = this.#name;
    this.#read = this.#text;
    return at + 1;
  }

  #pass(text: string, to: number): void {
    this.#out += text.slice(this.#from, to);
    this.#from = to;
  }
}

/** `body` with its links rewritten. */
export function rewrittenHtml(body: PullBody, rewrite: (url: string) => string): PullBody {
  const links = new HtmlLinks(rewrite);
  let over = false;
  return {
    pull(maxBytes) {
      while (!over) {
        const chunk = body.pull(maxBytes);
        if (chunk === undefined) return undefined;
        over = chunk === null;
        const out = chunk === null ? links.end() : links.push(chunk);
        if (out.length > 0) return out;
      }
      return null;
    },
    onReady: (callback) => body.onReady(callback),
    close: () => body.close(),
  };
}
