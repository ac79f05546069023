// Which credentials of a Docker configuration are for an image, and in what order. Pure (upstream: credentialprovider/keyring).

interface Key {
  readonly host: string;
  readonly port: string;
  /** With its slash, '' for a whole registry. */
  readonly path: string;
}

/** What `docker login` writes for Docker Hub, without scheme and version. */
const defaultRegistry = 'index.docker.io';

/** `https://host:5000/v1/`, `host:5000/team`: scheme, and v1 and v2 alone, mean nothing. */
function keyText(entry: string): string {
  const bare = entry.replace(/^https?:\/\//, '').replace(/[?#].*$/s, '');
  const slash = bare.indexOf('/');
  if (slash < 0) return bare;
  const path = bare.slice(slash).replace(/^\/v[12]\//, '/');
  return path === '/' ? bare.slice(0, slash) : `${bare.slice(0, slash)}${path}`;
}

function parse(text: string): Key {
  const slash = text.indexOf('/');
  const authority = slash < 0 ? text : text.slice(0, slash);
  const [, host = authority, port = ''] = /^(\[[^\]]*\]|[^:]*):(\d*)$/.exec(authority) ?? [];
  // An IPv6 address without its brackets, which would be a pattern.
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port, path: slash < 0 ? '' : text.slice(slash) };
}

/** Classes `[…]` and single characters. A `[` that nothing closes is one, too, and so is every one after it. */
function tokensOf(pattern: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < pattern.length; ) {
    const close = pattern[at] === '[' ? pattern.indexOf(']', at) : at;
    if (close < 0) return [...tokens, ...pattern.slice(at).split('')];
    const end = close > at + 1 ? close + 1 : at + 1;
    tokens.push(pattern.slice(at, end));
    at = end;
  }
  return tokens;
}

/** One character of a pattern: a class `[a-z]` or itself. Throws SyntaxError when the class is none. */
const fits = (token: string, character: string): boolean =>
  token.length === 1
    ? token === character
    : new RegExp(`^${token.replaceAll('\\', '\\\\')}$`, 's').test(character);

/**
 * One label of a host name: `*` and `[a-z]` as in file names; a `?` begins a query. Only the last `*` is tried again: both
 * sides are a tenant's, and a pattern of many stars must not stop the node.
 */
function labelMatches(pattern: string, label: string): boolean {
  const tokens = tokensOf(pattern);
  let star = -1;
  let mark = 0;
  let t = 0;
  try {
    for (let at = 0; at < label.length; ) {
      if (tokens[t] === '*') {
        star = t++;
        mark = at;
      } else if (t < tokens.length && fits(tokens[t]!, label[at]!)) {
        t++;
        at++;
      } else if (star >= 0) {
        t = star + 1;
        at = ++mark;
      } else return false;
    }
  } catch {
    return false; // no pattern: it is for no image
  }
  return tokens.slice(t).every((token) => token === '*');
}

function matches(pattern: Key, image: Key): boolean {
  const wanted = pattern.host.split('.');
  const labels = image.host.split('.');
  return (
    pattern.port === image.port &&
    wanted.length === labels.length &&
    image.path.startsWith(pattern.path) &&
    wanted.every((label, i) => labelMatches(label, labels[i]!))
  );
}

/**
 * The entries for an image (`registry/path`), the more specific keys first. Docker Hub's own entry counts where no other
 * one does.
 */
export function entriesFor<T>(entries: readonly (readonly [key: string, entry: T])[], image: string): T[] {
  const byKey = Map.groupBy(entries, ([key]) => keyText(key));
  const target = parse(image);
  const found = [...byKey.keys()]
    .sort()
    .reverse()
    .filter((key) => matches(parse(key), target));
  const keys = found.length === 0 && target.host === 'docker.io' ? [defaultRegistry] : found;
  return keys.flatMap((key) => (byKey.get(key) ?? []).map(([, entry]) => entry));
}
