// What this server itself asks of another API server: whether it works, what it serves, how that is described.
import type { Clock } from '../../base/clock.ts';
import { hostPort } from '../../base/ip.ts';
import { BackendError, type BackendRequest } from '../../wire/backend.ts';
import { isPullBody, type PullBody } from '../../wire/http-message.ts';
import {
  type HttpsAnswer,
  HttpsClient,
  type HttpsTarget,
  NoAnswerError,
  whyNoAnswer,
} from '../../wire/https-client.ts';
import { machineAuthorities } from '../../wire/machine-authorities.ts';
import type { SpokenProtocols } from '../../wire/spoken-protocols.ts';
import { authorityOf, type ServiceResolver } from '../admission/webhook/webhook-client.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import { identityHeaders } from './proxied-request.ts';
import type { ClientCredentials } from './remote-proxy.ts';
import type { RemoteService } from './remote-service.ts';

export interface RemoteQuestion {
  readonly path: string;
  readonly user: UserInfo;
  readonly timeoutMs: number;
  readonly accept?: string | undefined;
  /** Of what is known: the answer may be that it is still so. */
  readonly etag?: string | undefined;
}

export interface RemoteAnswer extends HttpsAnswer {
  /** Where it was asked. */
  readonly url: string;
}

/** Throws Error in Go's words. */
export type AskRemote = (remote: RemoteService, question: RemoteQuestion) => Promise<RemoteAnswer>;

/** No description of one server's kinds is longer, and what it says is held once while it is read. */
const maxAnswerBytes = 8 << 20;
const limits = { maxAnswerBytes, maxConnections: 8, maxAllConnections: 64 } as const;

/** The address was found, and nobody answered there. */
export class RemoteFailure extends Error {
  readonly url: string;
  constructor(url: string, message: string, options: ErrorOptions) {
    super(message, options);
    this.url = url;
  }
}

/** Over HTTP/2, from a server that speaks it; undefined from others. Throws NoAnswerError, or the signal's reason. */
async function askedOver2(
  spoken: SpokenProtocols,
  { host, port, ca, client, serverName, verify = true }: HttpsTarget,
  question: BackendRequest & { readonly signal: AbortSignal },
): Promise<HttpsAnswer | undefined> {
  const { certificate: cert, key } = client ?? {};
  const tls = { verify, servername: serverName, ca: ca ?? machineAuthorities(), cert, key };
  try {
    const answer = await spoken.request({ host, port, tls }, question);
    if (answer === undefined) return undefined;
    const { status, headers, body } = answer;
    const header = (name: string): string => String(headers[name] ?? '');
    const whole = isPullBody(body) ? await pulled(body, maxAnswerBytes) : Buffer.alloc(0);
    return { status, contentType: header('content-type'), etag: header('etag'), body: whole };
  } catch (error) {
    if (question.signal.aborted) throw question.signal.reason;
    const cause = error instanceof BackendError ? error.cause : error;
    throw new NoAnswerError(whyNoAnswer(cause, { host, port, serverName }), { cause });
  }
}

/** Throws when it is longer, or breaks off. */
async function pulled(body: PullBody, most: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for (;;) {
      const chunk = body.pull(most);
      if (chunk === null) return Buffer.concat(parts, size);
      if (chunk === undefined) await new Promise<void>((resolve) => body.onReady(resolve));
      else {
        parts.push(chunk);
        size += chunk.length;
        if (size > most) throw new Error(`http: response body too large: the limit is ${most} bytes`);
      }
    }
  } finally {
    body.close();
  }
}

export function remoteQuestions(
  deps: {
    readonly clock: Clock;
    readonly resolve: ServiceResolver;
    readonly credentials: () => ClientCredentials | undefined;
  },
  spoken: SpokenProtocols,
): { readonly ask: AskRemote; close(): void } {
  const https = new HttpsClient(limits);
  const targetOf = ({ service, caBundle, insecure }: RemoteService): HttpsTarget => {
    const credentials = deps.credentials();
    return {
      ...deps.resolve(service.namespace, service.name, service.port),
      serverName: `${service.name}.${service.namespace}.svc`,
      ca: authorityOf(caBundle),
      verify: !insecure,
      client: credentials && { certificate: credentials.certificatePem, key: credentials.privateKeyPem },
    };
  };
  const ask: AskRemote = async (remote, { path, user, timeoutMs, accept, etag }) => {
    const target = targetOf(remote);
    const host = hostPort(target.host, target.port);
    const url = `https://${host}${path}`;
    const ended = new AbortController();
    const late = new NoAnswerError(
      'context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    );
    const stop = deps.clock.timer(timeoutMs, () => ended.abort(late));
    try {
      const question = {
        method: 'GET',
        path,
        headers: {
          host,
          ...identityHeaders(user),
          ...(accept === undefined ? {} : { accept }),
          ...(etag === undefined || etag === '' ? {} : { 'if-none-match': etag }),
        },
        body: Buffer.alloc(0),
        signal: ended.signal,
      };
      const answer =
        (await askedOver2(spoken, target, { ...question, answerWithinMs: timeoutMs })) ??
        (await https.ask(target, question));
      return { ...answer, url };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new RemoteFailure(url, `Get ${JSON.stringify(url)}: ${why}`, { cause: error });
    } finally {
      stop();
    }
  };
  return { ask, close: () => https.close() };
}
