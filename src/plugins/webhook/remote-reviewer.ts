// Asks a service of somebody else for a verdict: an object goes there by POST, and comes back with its status.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isObject, str } from '../../apimachinery/json-access.ts';
import type { Clock } from '../../base/clock.ts';
import type { HttpTransportOptions } from '../../client/transport-http.ts';
import type { HttpsAnswer, HttpsClient, HttpsTarget } from '../../wire/https-client.ts';

export interface RemoteReviewer {
  /** Throws why there is no verdict. */
  review(object: JsonObject): Promise<JsonObject>;
}

export interface RemoteReviewerOptions {
  /** As a kubeconfig names it. */
  readonly transport: HttpTransportOptions;
  readonly client: HttpsClient;
  readonly clock: Clock;
  /** Of one question. */
  readonly timeoutMs: number;
  /** Told of each try: how it ended, and how long it took. */
  readonly tried?: (result: TryResult, seconds: number) => void;
}

export type TryResult = 'success' | 'timeout' | 'error';

/** As upstream's webhook clients: five tries, each wait half as long again as the one before. */
const tries = 5;
const firstWaitMs = 500;
const waitFactor = 1.5;

/** What may go well the next time; that nobody listens is said at once. */
const isPassing = (error: Error): boolean =>
  error instanceof RemoteStatusError
    ? [429, 500, 504].includes(error.status)
    : error.message === 'EOF' || error.message.includes('ECONNRESET');

/** Why there is no verdict, and how the last try ended. */
export class ReviewError extends Error {
  readonly result: TryResult;
  constructor(cause: unknown, result: TryResult) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.result = result;
  }
}

class RemoteStatusError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const resultOf = (error: unknown, signal: AbortSignal): TryResult =>
  signal.aborted || (error instanceof RemoteStatusError && error.status === 504) ? 'timeout' : 'error';

function targetOf({ server, ca, cert, key, tlsServerName, insecureSkipTlsVerify }: HttpTransportOptions): {
  readonly target: HttpsTarget;
  readonly path: string;
} {
  const url = new URL(server);
  if (url.protocol !== 'https:') throw new Error(`${server}: a webhook's server must be reached by https`);
  if (insecureSkipTlsVerify === true)
    throw new Error(`${server}: insecure-skip-tls-verify would believe whoever answers, and is refused`);
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return {
    path: `${url.pathname}${url.search}`,
    target: {
      host,
      port: url.port === '' ? 443 : Number(url.port),
      serverName: tlsServerName,
      ca: ca?.toString(),
      ...(cert && key ? { client: { certificate: cert.toString(), key: key.toString() } } : {}),
    },
  };
}

function objectOf({ status, body }: HttpsAnswer): JsonObject {
  if (status < 200 || status > 299)
    throw new RemoteStatusError(
      status,
      `an error on the server (${JSON.stringify(body.toString('utf8', 0, 256))}) has prevented the request from succeeding: status ${status}`,
    );
  const answer: unknown = JSON.parse(body.toString('utf8'));
  if (!isObject(answer as JsonObject)) throw new Error('the answer is no object');
  return answer as JsonObject;
}

/** What it does not say is what was asked. Throws, as Go's decoder, where it says that it is something else. */
function checkKind(answer: JsonObject, asked: JsonObject): void {
  const shown = ({ apiVersion, kind }: JsonObject): string =>
    `${str(apiVersion).split('/').at(-1)}.${str(kind)}`;
  const said = {
    apiVersion: str(answer['apiVersion']) || asked['apiVersion']!,
    kind: str(answer['kind']) || asked['kind']!,
  };
  if (said.apiVersion !== asked['apiVersion'] || said.kind !== asked['kind'])
    throw new Error(`converting (${shown(said)}) to (${shown(asked)}): unknown conversion`);
}

/** Throws for a server that is not asked by HTTPS. */
export function createRemoteReviewer(options: RemoteReviewerOptions): RemoteReviewer {
  const { transport, client, clock, timeoutMs, tried } = options;
  const { target, path } = targetOf(transport);
  const once = async (object: JsonObject, body: Buffer, signal: AbortSignal): Promise<JsonObject> => {
    const token = typeof transport.token === 'function' ? await transport.token() : transport.token;
    const answer = await client.ask(target, {
      method: 'POST',
      path,
      headers: {
        accept: 'application/json, */*',
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body,
      signal,
    });
    const said = objectOf(answer);
    checkKind(said, object);
    return said;
  };
  const told = async (object: JsonObject, body: Buffer, signal: AbortSignal): Promise<JsonObject> => {
    const began = clock.monotonic();
    const tell = (result: TryResult): void => tried?.(result, (clock.monotonic() - began) / 1000);
    try {
      const answer = await once(object, body, signal);
      tell('success');
      return answer;
    } catch (error) {
      tell(resultOf(error, signal));
      throw error;
    }
  };
  return {
    async review(object) {
      const body = Buffer.from(JSON.stringify(object));
      const ending = new AbortController();
      const cancel = clock.timer(timeoutMs, () => ending.abort(new Error('context deadline exceeded')));
      try {
        for (let n = 1, waitMs = firstWaitMs; ; n++, waitMs *= waitFactor) {
          try {
            return await told(object, body, ending.signal);
          } catch (error) {
            const failed = new ReviewError(error, resultOf(error, ending.signal));
            if (n >= tries || ending.signal.aborted || !isPassing(error as Error)) throw failed;
            // Time may be over before the next try: what the last one said is why there is no verdict.
            await clock.sleep(waitMs, ending.signal).catch(() => {
              throw failed;
            });
          }
        }
      } finally {
        cancel();
      }
    },
  };
}
