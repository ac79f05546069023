// URLs in what a proxied server answers: those of its own host lead through the proxy again, as upstream's proxy transport.

export interface ProxiedFrom {
  /** Path of the request up to and including `/proxy`. */
  readonly prefix: string;
  /** Authority that was asked, and the one that the client asked for. */
  readonly backendHost: string;
  readonly clientHost: string;
}

const urlParts = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/is;

/** Go's path.Join, with the slash at its end kept. */
function joined(prefix: string, path: string): string {
  const segments: string[] = [];
  for (const segment of `${prefix}/${path}`.split('/'))
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  return `/${segments.join('/')}${path.endsWith('/') ? '/' : ''}`;
}

/** Relative URLs and those of other hosts stay as they are. */
export function proxiedUrl(url: string, { prefix, backendHost, clientHost }: ProxiedFrom): string {
  const [, scheme, host = '', path = '', rest = ''] = urlParts.exec(url) ?? [];
  const isOther = host !== '' && host !== backendHost && host !== clientHost;
  if (isOther || !path.startsWith('/')) return url;
  const authority =
    host !== '' && host === clientHost ? `${scheme === undefined ? '' : `${scheme}:`}//${host}` : '';
  return authority + (path.startsWith(prefix) ? path : joined(prefix, path)) + rest;
}

/** `/api/v1/…/proxy` of a request's URL; '' when it is none of a proxy. A namespace, a node or a pod may be called `proxy` as well. */
export function proxyPrefix(url: string): string {
  return beforePath.exec(url)?.[0] ?? '';
}
const beforePath = /^\/*api\/[^/?]+\/(?:namespaces\/[^/?]+\/)?[^/?]+\/[^/?]+\/proxy(?=[/?]|$)/;
