// A gRPC client over a unix socket: unary calls and server streams, with deadlines, bounds and errors that carry a code.
import {
  type ClientReadableStream,
  connectivityState,
  credentials,
  Client as GrpcJsClient,
  Metadata,
  status,
} from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';

/** A call that failed; `code` is the gRPC status by name: `NotFound`, `DeadlineExceeded` … */
export class GrpcError extends Error {
  readonly code: string;
  readonly method: string;
  constructor(method: string, code: string, message: string) {
    super(message);
    this.name = 'GrpcError';
    this.code = code;
    this.method = method;
  }
}

export const isGrpcError = (error: unknown, code?: string): error is GrpcError =>
  error instanceof GrpcError && (code === undefined || error.code === code);

export interface GrpcMethod<Request, Response> {
  /** `/runtime.v1.RuntimeService/Version`. */
  readonly path: string;
  encode(request: Request): Buffer;
  decode(bytes: Buffer): Response;
}

type Headers = Readonly<Record<string, string>>;

export interface GrpcClient {
  unary<Q, R>(
    method: GrpcMethod<Q, R>,
    request: Q,
    options: {
      readonly timeoutMs: number;
      readonly signal?: AbortSignal | undefined;
      readonly headers?: Headers | undefined;
      /** A server that is not there yet is waited for until the call's time is over. */
      readonly waitForReady?: boolean;
    },
  ): Promise<R>;
  /** Also a method that takes a stream, with one request. */
  serverStream<Q, R>(
    method: GrpcMethod<Q, R>,
    request: Q,
    signal: AbortSignal,
    headers?: Headers,
  ): AsyncIterable<R>;
  /** Resolves once the server accepts connections, or throws after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  close(): void;
}

/** `DEADLINE_EXCEEDED` -> `DeadlineExceeded`, as Go prints codes. */
const codeName = (code: number): string =>
  (status[code] ?? 'UNKNOWN')
    .toLowerCase()
    .split('_')
    .map((w) => w[0]!.toUpperCase() + w.slice(1))
    .join('')
    .replace('Ok', 'OK');

interface ServiceFailure {
  readonly code?: unknown;
  readonly details?: unknown;
  readonly message?: unknown;
}

function failureOf(path: string, error: unknown): GrpcError {
  const e = error as ServiceFailure;
  const code = typeof e.code === 'number' ? codeName(e.code) : 'Unknown';
  const text = typeof e.details === 'string' && e.details !== '' ? e.details : String(e.message ?? error);
  return new GrpcError(path, code, text);
}

/** Answers above it fail with ResourceExhausted. A list of containers or images is one answer, so it is far above what a full node has. */
export const maxGrpcMessageBytes: number = 64 << 20;

/** `address`: `unix:///run/x.sock`. `maxBytes`: of one message. */
export function createGrpcClient(
  clock: Pick<Clock, 'now'>,
  address: string,
  maxBytes: number = maxGrpcMessageBytes,
): GrpcClient {
  const connections = new Connections(address, maxBytes);
  return {
    unary: (method, request, { timeoutMs, signal, headers = {}, waitForReady = false }) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const metadata = Metadata.fromHttp2Headers(headers);
        metadata.setOptions({ waitForReady });
        const { client, done } = connections.begin();
        const call = client.makeUnaryRequest(
          method.path,
          (value) => method.encode(value),
          (bytes) => method.decode(bytes),
          request,
          metadata,
          { deadline: clock.now() + timeoutMs },
          (error, value) => {
            signal?.removeEventListener('abort', cancel);
            done(error?.code === status.DEADLINE_EXCEEDED);
            if (error) reject(signal?.aborted ? signal.reason : failureOf(method.path, error));
            else resolve(value!);
          },
        );
        const cancel = (): void => call.cancel();
        signal?.addEventListener('abort', cancel, { once: true });
      }),
    serverStream: (method, request, signal, headers = {}) =>
      readStream(connections.now, method, request, signal, headers),
    ready: (timeoutMs) =>
      new Promise((resolve, reject) =>
        connections.now.waitForReady(clock.now() + timeoutMs, (error) =>
          error ? reject(new GrpcError('', 'Unavailable', `${address}: ${error.message}`)) : resolve(),
        ),
      ),
    close: () => connections.close(),
  };
}

interface CountedClient {
  readonly client: GrpcJsClient;
  calls: number;
}

/**
 * The library waits for ever for a server that took a connection and says nothing on it, whoever listens at the address
 * meanwhile: when a call's time is over and there is still no answer to the connection, the next call makes another one.
 */
class Connections {
  readonly #address: string;
  readonly #maxBytes: number;
  #current: CountedClient;
  /** Also those that only end their calls. */
  readonly #open = new Set<CountedClient>();

  constructor(address: string, maxBytes: number) {
    this.#address = address;
    this.#maxBytes = maxBytes;
    this.#current = this.#another();
  }

  get now(): GrpcJsClient {
    return this.#current.client;
  }

  begin(): { readonly client: GrpcJsClient; readonly done: (isLate: boolean) => void } {
    const used = this.#current;
    used.calls++;
    const done = (isLate: boolean): void => {
      used.calls--;
      if (isLate && used === this.#current && this.#open.has(used) && isConnecting(used))
        this.#current = this.#another();
      if (used !== this.#current && used.calls === 0) this.#end(used);
    };
    return { client: used.client, done };
  }

  close(): void {
    for (const one of this.#open) this.#end(one);
  }

  #another(): CountedClient {
    const client = new GrpcJsClient(this.#address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': this.#maxBytes,
      'grpc.max_send_message_length': this.#maxBytes,
      'grpc.enable_http_proxy': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
      // Clients of one address share connections otherwise: also that one on which nobody answers.
      'grpc.use_local_subchannel_pool': 1,
      // A unix socket has no host name; containerd refuses an escaped path as :authority.
      'grpc.default_authority': 'localhost',
    });
    const made = { client, calls: 0 };
    this.#open.add(made);
    return made;
  }

  #end(one: CountedClient): void {
    this.#open.delete(one);
    one.client.close();
  }
}

const isConnecting = ({ client }: CountedClient): boolean =>
  client.getChannel().getConnectivityState(false) === connectivityState.CONNECTING;

/** The same connection; each call of it has these headers, too. */
export const withHeaders = (client: GrpcClient, headers: Headers): GrpcClient => ({
  ...client,
  unary: (method, request, options) =>
    client.unary(method, request, { ...options, headers: { ...headers, ...options.headers } }),
  serverStream: (method, request, signal, more) =>
    client.serverStream(method, request, signal, { ...headers, ...more }),
});

async function* readStream<Q, R>(
  client: GrpcJsClient,
  method: GrpcMethod<Q, R>,
  request: Q,
  signal: AbortSignal,
  headers: Headers,
): AsyncIterable<R> {
  signal.throwIfAborted();
  const stream: ClientReadableStream<R> = client.makeServerStreamRequest(
    method.path,
    (value: Q) => method.encode(value),
    (bytes: Buffer) => method.decode(bytes),
    request,
    Metadata.fromHttp2Headers(headers),
    {},
  );
  const cancel = (): void => stream.cancel();
  stream.on('error', () => undefined); // the library tells of the end of a call that its reader has left, too
  signal.addEventListener('abort', cancel, { once: true });
  try {
    for await (const message of stream) yield message as R;
  } catch (error) {
    if (signal.aborted) return;
    throw failureOf(method.path, error);
  } finally {
    signal.removeEventListener('abort', cancel);
    stream.cancel();
  }
}
