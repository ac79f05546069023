// Asks grpc.health.v1.Health/Check for a probe.
import type { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { ChannelCredentials, Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { boundedSocket } from './bounded-socket.ts';

export interface GrpcProbe {
  readonly address: string;
  readonly service: string;
  readonly timeoutMs: number;
}

/** What HTTP/2 and an answer of two bytes take, many times over. */
const maxAnswerBytes = 64 << 10;

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** No TLS, and a server that can't go on without end: with frames that answer nothing it would be read for as long as the probe may take. */
class BoundedCredentials extends ChannelCredentials {
  readonly #plain = credentials.createInsecure();
  readonly #over = new AbortController();

  override _isSecure(): boolean {
    return false;
  }
  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }
  override _createSecureConnector(
    ...args: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const tooMuch = `the server sent more than ${maxAnswerBytes} bytes`;
    return {
      ...this.#plain._createSecureConnector(...args),
      connect: async (raw) => {
        const socket = boundedSocket(raw, maxAnswerBytes, tooMuch);
        addAbortSignal(this.#over.signal, socket);
        // The library needs no more of a connection than what every stream has.
        return { socket: socket as Socket, secure: false };
      },
    };
  }
  /** The library itself goes on with a connection whose server has not said yet that it speaks HTTP/2. */
  close(): void {
    this.#over.abort();
  }
}

/** HealthCheckRequest { string service = 1 }. */
function request(service: string): Buffer {
  const name = Buffer.from(service);
  if (name.length === 0) return Buffer.alloc(0);
  const length = name.length < 128 ? [name.length] : [(name.length & 127) | 128, name.length >> 7];
  return Buffer.concat([Buffer.from([0x0a, ...length]), name]);
}

/** HealthCheckResponse { ServingStatus status = 1 }; SERVING is 1. */
const isServing = (bytes: Buffer): boolean => bytes.length >= 2 && bytes[0] === 0x08 && bytes[1] === 1;

/** Undefined: it serves; else upstream's text. */
function verdict(
  error: ServiceError | null,
  bytes: Buffer | undefined,
  timeoutMs: number,
): string | undefined {
  if (!error)
    return bytes && isServing(bytes) ? undefined : 'service unhealthy (responded with "NOT_SERVING")';
  if (error.code === status.UNIMPLEMENTED) {
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`;
  }
  if (error.code === status.DEADLINE_EXCEEDED) {
    return `timeout: health rpc did not complete within ${timeoutMs / 1000}s`;
  }
  return `error: health rpc probe failed: ${error.message}`;
}

/** Undefined: it serves; else upstream's text. Never throws. `signal`: nobody wants to know any more. */
export function probeGrpcHealth(
  { address, service, timeoutMs }: GrpcProbe,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bounded = new BoundedCredentials();
  const client = new Client(address, bounded, { 'grpc.enable_retries': 0 });
  return new Promise((resolve) => {
    const call = client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (value: string) => request(value),
      (bytes: Buffer) => bytes,
      service,
      { deadline: new Date(performance.timeOrigin + performance.now() + timeoutMs) },
      (error, bytes) => {
        signal.removeEventListener('abort', stop);
        client.close();
        bounded.close();
        resolve(verdict(error, bytes, timeoutMs));
      },
    );
    const stop = (): void => call.cancel();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
}
