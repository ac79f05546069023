// The server's front door: HTTP/2 and HTTP/1.1 (with upgrades) on one TLS port.
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import type { Clock } from '../base/clock.ts';
import { Rounds } from '../base/rounds.ts';
import { mostOpenFiles } from '../component-base/open-files.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { Answers } from './answers.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { Http1Service } from './http1-service.ts';
import { Http2Service } from './http2-service.ts';
import { connectionsOf, OpenConnections } from './open-connections.ts';
import { peerIdentities } from './peer-certificate.ts';
import { type ServerTls, TlsDoor } from './tls-door.ts';

export type { ServerTls } from './tls-door.ts';

export interface HttpServerOptions {
  readonly handler: (request: HttpRequest) => Promise<HttpResponse>;
  /** undefined: plain HTTP/1.1, for a loopback port in tests. */
  readonly tls: ServerTls | undefined;
  /** How long a client may take until it has said hello, and from its turn on until it is known who it is. Default 10 s each. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** Default: what the descriptors of the process allow. */
  readonly mostConnections?: number | undefined;
  /** How long a connection without requests is kept. */
  readonly idleMs?: number | undefined;
  /** What time it is for client certificates. Default: the machine's clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Failures that no client sees. */
  readonly onError?: (error: unknown, where: string) => void;
}

export interface HttpServer {
  /** May be called again, for further addresses. */
  listen(port: number, host: string): Promise<{ readonly port: number; readonly host: string }>;
  /** New certificates for new connections. */
  setTls(tls: ServerTls): void;
  /** Stops accepting, ends streams, lets requests finish within `graceMs`, then cuts. */
  close(graceMs?: number): Promise<void>;
}

class FrontDoor implements HttpServer {
  readonly #onError: (error: unknown, where: string) => void;
  readonly #answers: Answers;
  readonly #http1: Http1Service;
  readonly #http2: Http2Service;
  readonly #connections: OpenConnections;
  /** Also those whose handshake is under way: one that is never finished would keep the process that was told to end. */
  readonly #sockets = new Set<Socket>();
  readonly #tls: TlsDoor | undefined;
  readonly #listeners: TcpServer[] = [];

  constructor(options: HttpServerOptions) {
    const { handler, tls, handshakeTimeoutMs, onError = () => {} } = options;
    const rounds = new Rounds<object>(setImmediate, () => performance.now());
    const answers = new Answers({ handler, onError });
    const clock = options.clock ?? systemClock;
    const shared = { answers, rounds, peers: peerIdentities(clock) };
    this.#onError = onError;
    this.#answers = answers;
    this.#http1 = new Http1Service({ ...shared, clock });
    this.#http2 = new Http2Service({ ...shared, idleMs: options.idleMs, onError });
    this.#connections = new OpenConnections(options.mostConnections ?? connectionsOf(mostOpenFiles()));
    this.#tls =
      tls &&
      new TlsDoor({
        tls,
        handshakeTimeoutMs,
        rounds,
        entered: (socket, bytes) => {
          this.#track(socket);
          if (socket.alpnProtocol === 'h2') this.#http2.serve({ socket, bytes });
          else this.#http1.serve(socket, bytes);
        },
      });
  }

  listen(port: number, host: string): Promise<{ readonly port: number; readonly host: string }> {
    // TLS says when the other direction ends, too.
    const options = { allowHalfOpen: this.#tls !== undefined };
    const opened = createTcpServer(options, (socket) => this.#accept(socket));
    opened.on('error', (error) => this.#onError(error, 'listener'));
    this.#listeners.push(opened);
    return new Promise((resolve, reject) => {
      opened.once('error', reject);
      opened.listen(port, host, () => {
        opened.off('error', reject);
        const address = opened.address() as AddressInfo;
        resolve({ port: address.port, host: address.address });
      });
    });
  }

  setTls(tls: ServerTls): void {
    this.#tls?.setTls(tls);
  }

  async close(graceMs = 10_000): Promise<void> {
    for (const one of this.#listeners) one.close();
    this.#answers.close();
    this.#http2.closeSessions();
    this.#http1.closeIdle();
    await this.#answers.given(graceMs);
    this.#http2.close();
    for (const socket of [...this.#sockets]) socket.destroy();
    this.#http1.close();
  }

  #accept(socket: Socket): void {
    this.#connections.add(socket);
    this.#track(socket);
    if (this.#tls === undefined) this.#http1.serve(socket);
    else this.#tls.accept(socket);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => void this.#sockets.delete(socket));
    socket.on('error', () => {});
  }
}

export const createHttpServer = (options: HttpServerOptions): HttpServer => new FrontDoor(options);
