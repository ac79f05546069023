// HTTP/1 on connections that somebody else has accepted.
import type { Socket } from 'node:net';
import { Http1Connection, type Http1Options } from './http1-connection.ts';
import type { TurnedSocket } from './turned-socket.ts';

/** How late a client that takes too long may be let go. */
const lookEveryMs = 5_000;

export class Http1Service {
  readonly #options: Http1Options;
  readonly #connections = new Set<Http1Connection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Http1Options) {
    this.#options = options;
  }

  /** `bytes`: what TLS reads from. */
  serve(socket: Socket, bytes?: TurnedSocket): void {
    if (bytes === undefined) socket.setNoDelay(true);
    const connection = new Http1Connection(socket, this.#options, bytes);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    // All together: a timer for each would be set anew by each request.
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
  }

  closeIdle(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#connections.size === 0) this.close();
    const now = performance.now();
    for (const connection of this.#connections) connection.look(now);
  }
}
