// The kubelet's HTTPS server: what the API server asks a node for.
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { createHttpServer } from '../../wire/http-server.ts';
import { showCertificateTtl } from '../certificates/certificate-ttl.ts';
import { countedRequests } from '../metrics/request-metrics.ts';
import { delegatedAuth } from './delegated-auth.ts';
import { requestPath } from './request-attributes.ts';
import { type KubeletServerDeps, textResponse } from './route.ts';
import { routeRequest } from './routes.ts';

export interface KubeletServerTls {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CA that signs the clients' certificates. */
  readonly clientCa: string;
}

export interface KubeletServer {
  readonly port: number;
  /** For new connections. */
  setTls(tls: KubeletServerTls): void;
  close(): Promise<void>;
}

export async function startKubeletServer(
  deps: KubeletServerDeps,
  options: { readonly address: string; readonly port: number; readonly tls: KubeletServerTls },
): Promise<KubeletServer> {
  let { tls } = options;
  showCertificateTtl(deps.metrics[''], deps.ctx.clock, 'server', () => tls.cert);
  const authorize = delegatedAuth(deps.ctx);
  const handler = async (request: HttpRequest): Promise<HttpResponse> => {
    const path = requestPath(request.url);
    if (path === undefined) return textResponse(400, 'the path is not URL-encoded\n');
    const refused = await authorize(request, path);
    return refused ?? routeRequest(deps, request, path);
  };
  const server = createHttpServer({
    handler: countedRequests(deps.metrics[''], deps.ctx.clock, handler),
    tls: { cert: tls.cert, key: tls.key, clientCa: tls.clientCa },
    onError: (error, where) => deps.ctx.log.debug({ error, where }, 'kubelet server'),
  });
  const { port } = await server.listen(options.port, options.address);
  return {
    port,
    setTls: (renewed) => {
      tls = renewed;
      server.setTls(renewed);
    },
    close: () => server.close(0),
  };
}
