// Calls an API server's handler as a function: same filters, no socket.
import { tooLargeBody } from '../apimachinery/errors.ts';
import { type Transport, type TransportRequest, type TransportResponse, WholeBody } from './transport.ts';

/** As apiserver's UserInfo; told again here because a client stands below the server. */
export interface InProcessUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface InProcessRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readBody(limit: number): Promise<Buffer>;
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  readonly user: InProcessUser;
}

interface InProcessPullBody {
  pull(maxBytes: number): Buffer | undefined | null;
  onReady(callback: () => void): void;
  close(): void;
}

interface InProcessResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | readonly Buffer[] | InProcessPullBody | undefined;
}

/** apiserver's Handler, structurally. */
export type InProcessHandler = (request: InProcessRequest) => Promise<InProcessResponse>;

const pullBytes = 1 << 20;

async function* pulled(body: InProcessPullBody, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  let wake: (() => void) | undefined;
  const onAbort = (): void => wake?.();
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      if (signal.aborted) return;
      const chunk = body.pull(pullBytes);
      if (chunk === null) return;
      if (chunk !== undefined) {
        yield chunk;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        body.onReady(resolve);
        if (signal.aborted) resolve();
      });
      wake = undefined;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    body.close();
  }
}

async function* buffered(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* chunks;
}

function bodyOf(body: InProcessResponse['body'], signal: AbortSignal): AsyncIterable<Buffer> {
  if (body === undefined) return buffered([]);
  if (Buffer.isBuffer(body)) return new WholeBody(body);
  if ('pull' in body) return pulled(body, signal);
  return buffered(body);
}

const never = new AbortController().signal;

export function inProcessTransport(handle: InProcessHandler, user: InProcessUser): Transport {
  return {
    async request(request: TransportRequest): Promise<TransportResponse> {
      const signal = request.signal ?? never;
      signal.throwIfAborted();
      const body = request.body ?? Buffer.alloc(0);
      const response = await handle({
        method: request.method,
        url: request.path,
        headers: request.headers,
        async readBody(limit) {
          if (body.length > limit) throw tooLargeBody(limit);
          return body;
        },
        signal,
        remoteAddress: '127.0.0.1',
        user,
      });
      return { status: response.status, headers: response.headers, body: bodyOf(response.body, signal) };
    },
    async close() {},
  };
}
