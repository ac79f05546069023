// How many connections a server keeps open: each takes a descriptor, and without one it opens no file and starts no program.
import type { Socket } from 'node:net';

/** For the files, pipes and programs of the process itself, and its own connections. */
const reserved = 1000;

/** Of so many files that may be open. */
export const connectionsOf = (openFiles: number): number => Math.max(openFiles - reserved, openFiles / 2);

/** Beyond the bound whoever has the most of them gives its oldest: a crowd of one address pushes out itself. */
export class OpenConnections {
  readonly #most: number;
  readonly #byAddress = new Map<string, Set<Socket>>();
  #open = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const own = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, own);
    own.add(socket);
    this.#open++;
    socket.once('close', () => this.#remove(address, own, socket));
    if (this.#open > this.#most) this.#cutOne();
  }

  #remove(address: string, own: Set<Socket>, socket: Socket): void {
    if (!own.delete(socket)) return;
    this.#open--;
    if (own.size === 0) this.#byAddress.delete(address);
  }

  #cutOne(): void {
    const [first, ...others] = this.#byAddress;
    if (first === undefined) return;
    const [address, own] = others.reduce((most, one) => (one[1].size > most[1].size ? one : most), first);
    const [oldest] = own;
    if (oldest === undefined) return;
    // At once: `close` comes later, and until then it would be the oldest again.
    this.#remove(address, own, oldest);
    oldest.destroy();
  }
}
