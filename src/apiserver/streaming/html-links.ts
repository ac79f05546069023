// Rewrites the URLs in a page while it passes: the tags that may hold one are read, everything else goes on byte for byte.
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

/** A tag longer than this is passed on as it is: it would have to be kept until it ends. */
const maxTagBytes = 64 * 1024;

/** A whole tag: quoted values may hold a `>`. */
const tag = /<\/?([a-zA-Z][^\s/>]*)((?:"[^"]*"|'[^']*'|[^>"'])*)>/y;
/** A name begins behind a delimiter only: a long one is looked at once. */
const attribute = /(?<![^\s"'<>/=])([^\s"'<>/=]+)(\s*=\s*)(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/g;

/** Bytes stand for characters one by one here: whatever the page's encoding is, it stays. */
export class HtmlLinks {
  readonly #rewrite: (url: string) => string;
  #pending = '';
  /** Which element's text is passed over. */
  #within = '';
  constructor(rewrite: (url: string) => string) {
    this.#rewrite = rewrite;
  }

  /** What can be passed on after `chunk`. */
  push(chunk: Buffer): Buffer {
    const text = this.#pending + chunk.toString('latin1');
    let out = '';
    let at = 0;
    for (;;) {
      const from = text.indexOf('<', at);
      if (from < 0) {
        out += text.slice(at);
        at = text.length;
        break;
      }
      out += text.slice(at, from);
      at = from;
      const end = this.#endOf(text, from);
      if (end < 0) break;
      const part = text.slice(from, end);
      out += end - from > 1 ? this.#rewritten(part) : part;
      at = end;
    }
    this.#pending = text.slice(at);
    if (this.#pending.length > maxTagBytes) {
      out += this.#pending;
      this.#pending = '';
    }
    return Buffer.from(out, 'latin1');
  }

  end(): Buffer {
    const rest = Buffer.from(this.#pending, 'latin1');
    this.#pending = '';
    return rest;
  }

  /** Behind the tag or comment that begins at `from`, or behind its `<` when there is none; -1: not known yet. */
  #endOf(text: string, from: number): number {
    if (this.#within !== '') {
      const closing = `</${this.#within}`;
      const seen = text.slice(from, from + closing.length).toLowerCase();
      if (!closing.startsWith(seen)) return from + 1;
      if (seen.length < closing.length) return -1;
    }
    if ('<!--'.startsWith(text.slice(from, from + 4)) && text.length < from + 4) return -1;
    if (text.startsWith('<!--', from)) {
      const end = text.indexOf('-->', from + 4);
      return end < 0 ? -1 : end + 3;
    }
    if (text.length > from + 1 && !/[a-zA-Z/]/.test(text[from + 1]!)) return from + 1;
    tag.lastIndex = from;
    if (tag.test(text)) return tag.lastIndex;
    // `</>`, `</ …` and what else begins no tag.
    return /^<\/[^a-zA-Z]/.test(text.slice(from, from + 3)) ? from + 1 : -1;
  }

  #rewritten(part: string): string {
    if (part.startsWith('<!')) return part;
    tag.lastIndex = 0;
    const name = tag.exec(part)?.[1]?.toLowerCase() ?? '';
    if (part.startsWith('</')) {
      if (name === this.#within) this.#within = '';
      return part;
    }
    if (rawText.has(name)) this.#within = name;
    const names = urlAttributes.get(name);
    if (names === undefined) return part;
    const head = name.length + 1;
    return (
      part.slice(0, head) +
      part.slice(head).replaceAll(attribute, (whole, key: string, equals: string, double, single, bare) => {
        if (!names.includes(key.toLowerCase())) return whole;
        const value = (double ?? single ?? bare) as string;
        const quote = single === undefined ? '"' : "'";
        return `${key}${equals}${quote}${this.#rewrite(value)}${quote}`;
      })
    );
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
