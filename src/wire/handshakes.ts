// Connections of which nobody knows yet whose they are: each costs memory, and a pod without credentials may open thousands.
import type { Socket } from 'node:net';

type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/** Those of one address beyond the limit push out the oldest: one that is meant well takes milliseconds. */
export class Handshakes {
  readonly #perAddress: number;
  readonly #under = new Map<string, Map<number, Socket>>();

  constructor(perAddress: number) {
    this.#perAddress = perAddress;
  }

  began(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket;
    const own = this.#under.get(remoteAddress) ?? new Map<number, Socket>();
    this.#under.set(remoteAddress, own);
    own.set(remotePort, socket);
    socket.once('close', () => {
      if (own.get(remotePort) === socket) this.ended({ remoteAddress, remotePort });
    });
    if (own.size <= this.#perAddress) return;
    const [oldest] = own.values();
    oldest?.destroy();
  }

  /** It has a name now, or is gone. */
  ended({ remoteAddress = '', remotePort = 0 }: Peer): void {
    const own = this.#under.get(remoteAddress);
    own?.delete(remotePort);
    if (own?.size === 0) this.#under.delete(remoteAddress);
  }
}
