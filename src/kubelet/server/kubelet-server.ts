// The kubelet's HTTPS server: what the API server asks a node for.

import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { createHttpServer } from '../../wire/http-server.ts';
import { authorizeRequest, type KubeletAuthOptions } from './delegated-auth.ts';
import type { KubeletServerDeps } from './route.ts';
import { routeRequest } from './routes.ts';

export interface KubeletServerTls extends KubeletAuthOptions {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CA that signs the clients' certificates. */
  readonly clientCa: string;
}

export interface KubeletServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startKubeletServer(
  deps: KubeletServerDeps,
  options: { readonly address: string; readonly port: number; readonly tls: KubeletServerTls },
): Promise<KubeletServer> {
  const { tls } = options;
  const handler = async (request: HttpRequest): Promise<HttpResponse> => {
    const refused = await authorizeRequest(deps.ctx, request, tls);
    return refused ?? routeRequest(deps, request);
  };
  const server = createHttpServer({
    handler,
    tls: { cert: tls.cert, key: tls.key, clientCa: tls.clientCa },
    onError: (error, where) => deps.ctx.log.debug({ error, where }, 'kubelet server'),
  });
  const { port } = await server.listen(options.port, options.address);
  return { port, close: () => server.close(0) };
}
