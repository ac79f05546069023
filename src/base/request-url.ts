// URLs as Go's url.ParseRequestURI takes them: absolute, or a path; with its words for what it refuses.
export interface RequestUrl {
  /** As it was written. */
  readonly text: string;
  readonly scheme: string;
  /** With the port. */
  readonly host: string;
  /** undefined without one; it may be empty. */
  readonly port: string | undefined;
  readonly escapedPath: string;
  readonly query: string;
}

class Refused extends Error {}

/** The URL, or why the text is none. */
export function parseRequestUrl(text: string): RequestUrl | string {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof Refused) return `parse ${JSON.stringify(text)}: ${error.message}`;
    throw error;
  }
}

function read(text: string): RequestUrl {
  if (/[\0-\x1f\x7f]/.test(text)) throw new Refused('net/url: invalid control character in URL');
  if (text === '') throw new Refused('empty url');
  const [scheme, behind] = splitScheme(text);
  // A request has no fragment, but a URL that was one may.
  const [withoutFragment] = behind.split('#', 1) as [string];
  const at = withoutFragment.indexOf('?');
  const rest = at === -1 ? withoutFragment : withoutFragment.slice(0, at);
  const query = at === -1 ? '' : withoutFragment.slice(at + 1);
  const none = { text, scheme, host: '', port: undefined, escapedPath: '', query };
  if (!rest.startsWith('/')) {
    if (scheme !== '') return none;
    throw new Refused('invalid URI for request');
  }
  if (scheme === '' || !rest.startsWith('//')) return { ...none, escapedPath: escapedPath(rest) };
  const slash = rest.indexOf('/', 2);
  const authority = slash === -1 ? rest.slice(2) : rest.slice(2, slash);
  const path = slash === -1 ? '' : rest.slice(slash);
  const host = hostOf(authority.slice(authority.lastIndexOf('@') + 1));
  checkUser(authority);
  return { ...none, host, port: portOf(host), escapedPath: escapedPath(path) };
}

function splitScheme(text: string): [scheme: string, rest: string] {
  if (text.startsWith(':')) throw new Refused('missing protocol scheme');
  const found = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  return found ? [found[1]!.toLowerCase(), text.slice(found[0].length)] : ['', text];
}

function checkUser(authority: string): void {
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new Refused('net/url: invalid userinfo');
  checkEscapes(user);
}

const portOf = (host: string): string | undefined =>
  /:(\d*)$/.exec(host.slice(host.lastIndexOf(']') + 1))?.[1];

function hostOf(host: string): string {
  const close = host.lastIndexOf(']');
  if (host.startsWith('[') && close === -1) throw new Refused("missing ']' in host");
  const behind = host.startsWith('[')
    ? host.slice(close + 1)
    : host.slice(Math.max(0, host.lastIndexOf(':')));
  const hasPort = host.startsWith('[') ? behind !== '' : host.includes(':');
  if (hasPort && !/^:\d*$/.test(behind))
    throw new Refused(`invalid port ${JSON.stringify(behind)} after host`);
  const wrong = /[ \\^`{|}]/.exec(host);
  if (wrong) throw new Refused(`invalid character ${JSON.stringify(wrong[0])} in host name`);
  checkEscapes(host);
  const low = /%[0-7][0-9a-fA-F]/.exec(host);
  if (low && !host.startsWith('[')) throw new Refused(`invalid URL escape ${JSON.stringify(low[0])}`);
  return host.startsWith('[') ? host : decoded(host);
}

function checkEscapes(text: string): void {
  const wrong = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(text);
  if (wrong) throw new Refused(`invalid URL escape ${JSON.stringify(wrong[0])}`);
}

const decoder = new TextDecoder();
/** Each `%41` as its byte. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: number[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === '%') {
      bytes.push(Number.parseInt(text.slice(at + 1, at + 3), 16));
      at += 3;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at)!);
    bytes.push(...new TextEncoder().encode(character));
    at += character.length;
  }
  return decoder.decode(Uint8Array.from(bytes));
}

/** As it was written where that is a right way to write it, else as Go writes it. */
function escapedPath(path: string): string {
  checkEscapes(path);
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path;
  return encodeURIComponent(decoded(path)).replace(/%(?:2F|24|26|2B|3A|3D|40)/g, (found) =>
    decodeURIComponent(found),
  );
}

/** undefined for an escape that is none. */
export function unescapeQuery(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  return decoded(text.replaceAll('+', ' '));
}
