// Proxies plain requests (and upgrades) to a node, pod or service, as `…/proxy/<path>`.
import { hostPort } from '../../base/ip.ts';
import { type BackendTarget, endToEnd, requestBackend } from '../../wire/backend.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { maxBodyBytes } from '../registry/decode-body.ts';
import { unreachable } from './backend-errors.ts';
import { passUpgrade } from './upgrade-proxy.ts';

/** What a backend must not see: credentials of the client, and whom it impersonates. */
const withheld = /^(authorization|impersonate-.*|x-remote-.*|cookie2|host|content-length)$/;
const upgradeOnly = /^(connection|upgrade)$/;

/** A namespace, a node or a pod may be called `proxy` as well. */
const beforePath = /^\/*api\/[^/?]+\/(?:namespaces\/[^/?]+\/)?[^/?]+\/[^/?]+\/proxy(?=[/?]|$)/;

/** The part of the URL after `/proxy`, as it was sent, with its query. */
export function pathAfterProxy(url: string): string {
  const rest = url.slice(beforePath.exec(url)?.[0].length ?? url.length);
  return rest === '' ? '/' : rest.startsWith('?') ? `/${rest}` : rest;
}

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
  if (request.upgrade) {
    for (const [name, value] of Object.entries(request.headers))
      if (value !== undefined && upgradeOnly.test(name)) headers[name] = value;
    return passUpgrade(request, target, path, headers);
  }
  const body = await request.readBody(maxBodyBytes);
  try {
    const response = await requestBackend(target, {
      method: request.method,
      path,
      headers: body.length > 0 ? { ...headers, 'content-length': String(body.length) } : headers,
      ...(body.length > 0 ? { body } : {}),
      signal: request.signal,
    });
    return response;
  } catch (error) {
    throw unreachable(error);
  }
}
