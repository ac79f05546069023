// Hands a request on to the server that an APIService names, and its answer back as it comes: upstream's proxyHandler.
import { isStatusError } from '../../apimachinery/errors.ts';
import {
  BackendError,
  type BackendTarget,
  backendConnections,
  requestBackend,
  upgradeBackend,
} from '../../wire/backend.ts';
import { discardBody } from '../../wire/http-message.ts';
import { whyNoAnswer } from '../../wire/https-client.ts';
import { machineAuthorities } from '../../wire/machine-authorities.ts';
import type { SpokenProtocols } from '../../wire/spoken-protocols.ts';
import { authorityOf, type ServiceResolver } from '../admission/webhook/webhook-client.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { textResponse } from '../response.ts';
import { originHeaders } from '../streaming/http-proxy.ts';
import { passedBody } from '../streaming/passed-body.ts';
import { takeOver } from '../streaming/upgrade-proxy.ts';
import {
  type FrontProxyHeaders,
  type ProxiedHeaders,
  proxiedHeaders,
  proxiedPath,
} from './proxied-request.ts';
import type { RemoteService } from './remote-service.ts';

export interface ClientCredentials {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export interface RemoteProxyConfig {
  readonly resolve: ServiceResolver;
  /** With which this server proves that it is the front proxy, as they are now. */
  readonly credentials: () => ClientCredentials | undefined;
  readonly frontProxy: FrontProxyHeaders;
}

/** Upstream's --request-timeout, in which the body has to come, too. */
const answerWithinMs = 60_000;
/** Of one server, until it answers: one that hangs must not gather requests without end. */
const maxWaiting = 400;

/** As Go's http.Error. */
const refusal = (status: number, text: string): ApiResponse => textResponse(status, `${text}\n`);

const redirects = 'the backend attempted to redirect this request, which is not permitted';
const isRedirect = ({ status, headers }: ApiResponse): boolean =>
  status >= 300 && status <= 399 && (headers['location'] ?? '') !== '';

const readOnly: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

function whyOf(error: unknown, { host, port, tls }: BackendTarget): string {
  const cause = error instanceof BackendError ? (error.cause ?? error) : error;
  return whyNoAnswer(cause, { host, port, serverName: tls?.servername });
}

/** What this server says of origins holds: nobody else opens it to pages of others. */
function withoutOrigins(response: ApiResponse): ApiResponse {
  const headers = Object.entries(response.headers).filter(([name]) => !originHeaders.test(name));
  return { ...response, headers: Object.fromEntries(headers) };
}

/** Who follows a redirect would show its credentials to whom the other server names. */
function answered(response: ApiResponse): ApiResponse {
  if (!isRedirect(response)) return withoutOrigins(response);
  discardBody(response.body);
  return {
    status: 502,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: Buffer.from(redirects),
  };
}

export class RemoteProxy {
  readonly #config: RemoteProxyConfig;
  readonly #spoken: SpokenProtocols;
  readonly #connections = backendConnections();
  /** By APIService. */
  readonly #waiting = new Map<string, number>();

  constructor(config: RemoteProxyConfig, spoken: SpokenProtocols) {
    this.#config = config;
    this.#spoken = spoken;
  }

  async forward(context: RequestContext, remote: RemoteService): Promise<ApiResponse> {
    context.audit?.answeredElsewhere();
    if (!remote.available) return refusal(503, 'service unavailable');
    const waiting = this.#waiting.get(remote.name) ?? 0;
    if (waiting >= maxWaiting) {
      const busy = refusal(429, 'Too many requests, please try again later.');
      return { ...busy, headers: { ...busy.headers, 'retry-after': '1' } };
    }
    this.#waiting.set(remote.name, waiting + 1);
    try {
      return await this.#ask(context, remote);
    } finally {
      const left = this.#waiting.get(remote.name)! - 1;
      if (left > 0) this.#waiting.set(remote.name, left);
      else this.#waiting.delete(remote.name);
    }
  }

  async #ask(context: RequestContext, remote: RemoteService): Promise<ApiResponse> {
    let target: BackendTarget;
    try {
      target = this.#targetOf(remote);
    } catch (error) {
      if (isStatusError(error)) return refusal(503, 'service unavailable');
      return refusal(500, (error as Error).message);
    }
    const headers = proxiedHeaders(context, this.#config.frontProxy);
    return context.request.upgrade === undefined
      ? this.#request(context, target, headers)
      : this.#upgrade(context, target, headers);
  }

  /** Throws StatusError when nobody is there, Error when the APIService itself is unusable. */
  #targetOf({ service, caBundle, insecure }: RemoteService): BackendTarget {
    const ca = authorityOf(caBundle) ?? machineAuthorities();
    const credentials = this.#config.credentials();
    return {
      ...this.#config.resolve(service.namespace, service.name, service.port),
      tls: {
        verify: !insecure,
        servername: `${service.name}.${service.namespace}.svc`,
        ca,
        cert: credentials?.certificatePem,
        key: credentials?.privateKeyPem,
      },
    };
  }

  async #request(
    context: RequestContext,
    target: BackendTarget,
    headers: ProxiedHeaders,
  ): Promise<ApiResponse> {
    const { request } = context;
    const passed = await passedBody(request);
    const reads = readOnly.includes(request.method) && passed === undefined;
    const question = {
      method: request.method,
      path: proxiedPath(context),
      headers: { ...headers, ...passed?.framing },
      body: passed?.body,
      signal: context.signal,
      answerWithinMs,
    };
    try {
      const over2 = await this.#spoken.request(target, question);
      if (over2 !== undefined) return answered(over2);
      // A kept connection may just have been ended, and nobody knows whether a write arrived: it has one of its own.
      const kept = reads ? { ...target, connections: this.#connections } : target;
      const response = await requestBackend(kept, question).catch((error: unknown) => {
        if (error instanceof BackendError && error.stale) return requestBackend(target, question);
        throw error;
      });
      return answered(response);
    } catch (error) {
      return refusal(503, `error trying to reach service: ${whyOf(error, target)}`);
    }
  }

  async #upgrade(
    context: RequestContext,
    target: BackendTarget,
    headers: ProxiedHeaders,
  ): Promise<ApiResponse> {
    const { request, signal } = context;
    const asked = { ...headers };
    for (const name of ['connection', 'upgrade'])
      if (request.headers[name] !== undefined) asked[name] = request.headers[name];
    try {
      const question = { method: request.method, path: proxiedPath(context), headers: asked, signal };
      const answer = await upgradeBackend(target, question);
      if (answer.upgraded) return takeOver(request, answer);
      if (!isRedirect(answer.response)) return withoutOrigins(answer.response);
      discardBody(answer.response.body);
      return refusal(503, redirects);
    } catch (error) {
      return refusal(503, `error dialing backend: ${whyOf(error, target)}`);
    }
  }

  close(): void {
    this.#connections.destroy();
  }
}
