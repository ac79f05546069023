// Proxies plain requests (and upgrades) to a node, pod or service, as `…/proxy/<path>`.
import { hostPort } from '../../base/ip.ts';
import { type BackendTarget, endToEnd, requestBackend } from '../../wire/backend.ts';
import { type ApiRequest, type ApiResponse, isPullBody } from '../http.ts';
import { unreachable } from './backend-errors.ts';
import { rewrittenHtml } from './html-links.ts';
import { passedBody } from './passed-body.ts';
import { proxiedUrl, proxyPrefix } from './proxied-links.ts';
import { passUpgrade } from './upgrade-proxy.ts';

/** What a backend must not see: credentials of the client, and whom it impersonates. */
const withheld = /^(authorization|impersonate-.*|x-remote-.*|cookie2|host|content-length)$/;
const upgradeOnly = /^(connection|upgrade)$/;

/** The part of the URL after `/proxy`, as it was sent, with its query. */
export function pathAfterProxy(url: string): string {
  const rest = url.slice(proxyPrefix(url).length || url.length);
  return rest === '' ? '/' : rest.startsWith('?') ? `/${rest}` : rest;
}

/**
 * Upstream's 301 of a GET that ends with `…/proxy`: relative links of the page would lead beside it. undefined: the
 * request has a path for the backend.
 */
export function redirectToRoot({ method, url }: ApiRequest): ApiResponse | undefined {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  if ((method !== 'GET' && method !== 'HEAD') || path !== proxyPrefix(url)) return undefined;
  const location = `${path}/${at < 0 ? '' : url.slice(at)}`;
  return { status: 301, headers: { location }, body: undefined };
}

/** What the API server's own answers say of origins holds; a backend must not open it to pages of others. */
export const originHeaders: RegExp = /^access-control-allow-(credentials|headers|methods|origin)$/;

/** The answer as the client can follow it: locations and links of the backend's own host lead through the proxy. */
function led(request: ApiRequest, backendHost: string, response: ApiResponse): ApiResponse {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(response.headers))
    if (!originHeaders.test(name)) headers[name] = value;
  const prefix = proxyPrefix(request.url);
  const from = { prefix, backendHost, clientHost: String(request.headers['host'] ?? '') };
  const { location } = headers;
  if (typeof location === 'string' && location !== '')
    return { ...response, headers: { ...headers, location: proxiedUrl(location, from) } };
  const type = String(headers['content-type'] ?? '')
    .split(';', 1)[0]!
    .trim();
  const { body } = response;
  if (type !== 'text/html' || headers['content-encoding'] !== undefined || !isPullBody(body))
    return { ...response, headers };
  return { ...response, headers, body: rewrittenHtml(body, (url) => proxiedUrl(url, from)) };
}

/** Who wants a page gets it with links that work: they can't be found in compressed bytes. */
const wantsPage = (request: ApiRequest): boolean =>
  String(request.headers['accept'] ?? '').includes('text/html');

/** As long as a client may take to send it, and half a minute for the answer. */
const uploadWithinMs = 120_000;

export async function proxyRequest(
  request: ApiRequest,
  target: BackendTarget,
  path: string,
): Promise<ApiResponse> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(endToEnd(request.headers as Record<string, string | string[]>)))
    if (!withheld.test(name)) headers[name] = value;
  headers['host'] = hostPort(target.host, target.port);
  headers['x-forwarded-for'] = request.remoteAddress;
  headers['x-forwarded-uri'] = proxyPrefix(request.url) + path.split('?', 1)[0]!;
  if (wantsPage(request)) delete headers['accept-encoding'];
  if (request.upgrade) {
    for (const [name, value] of Object.entries(request.headers))
      if (value !== undefined && upgradeOnly.test(name)) headers[name] = value;
    return passUpgrade(request, target, path, headers);
  }
  const passed = await passedBody(request);
  try {
    const response = await requestBackend(target, {
      method: request.method,
      path,
      headers: { ...headers, ...passed?.framing },
      body: passed?.body,
      signal: request.signal,
      ...(passed && { answerWithinMs: uploadWithinMs }),
    });
    return led(request, hostPort(target.host, target.port), response);
  } catch (error) {
    throw unreachable(error);
  }
}
