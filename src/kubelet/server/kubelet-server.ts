// The kubelet's HTTPS server: what the API server asks a node for.
import { createHttpServer } from '../../wire/http-server.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import type { Host } from '../../os/host.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import type { PodWorkers } from '../pod-workers.ts';
import { authorizeRequest, type KubeletAuthOptions } from './delegated-auth.ts';
import { routeRequest } from './routes.ts';

export interface KubeletServerTls extends KubeletAuthOptions {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CA that signs the clients' certificates. */
  readonly clientCa: string;
}

export interface KubeletServerDeps {
  readonly ctx: KubeletContext;
  readonly workers: PodWorkers;
  readonly host: Pick<Host, 'files' | 'stats'>;
}

export interface KubeletServer {
  readonly port: number;
  close(): Promise<void>;
}

export const textResponse = (status: number, text: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: Buffer.from(text),
});

export const jsonResponse = (value: unknown): HttpResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});

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
