// Connections kept for the next question: an idle one makes room for a server that has none.
import type { ClientRequest } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';

/** As Go's transport keeps them. */
const idleMs = 90_000;
const maxIdleOfOne = 8;

/** Whoever asks has a place among `most` already: when all connections are taken, one of them is idle. */
export class KeptConnections extends Agent {
  readonly #most: number;
  readonly #open = new Set<Duplex>();
  /** Who was idle for longest comes first. */
  readonly #idle = new Set<Duplex>();

  constructor(most: number) {
    super({ keepAlive: true, scheduling: 'lifo', maxFreeSockets: maxIdleOfOne, timeout: idleMs });
    this.#most = most;
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const [oldest] = this.#idle;
    if (oldest !== undefined && this.#open.size >= this.#most) {
      this.#gone(oldest);
      oldest.destroy();
    }
    const socket = super.createConnection(options, callback);
    if (!socket) return socket;
    this.#open.add(socket);
    return socket.once('close', () => this.#gone(socket));
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const may: unknown = super.keepSocketAlive(socket);
    if (may !== true || this.#open.size > this.#most) return false;
    this.#idle.add(socket);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }

  #gone(socket: Duplex): void {
    this.#open.delete(socket);
    this.#idle.delete(socket);
  }
}
