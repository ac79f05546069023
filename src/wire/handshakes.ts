// Connections of which nobody knows yet whose they are: each costs memory, and a pod without credentials may open thousands.
import type { Socket } from 'node:net';
import type { Rounds } from '../base/rounds.ts';

type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

export interface HandshakeOptions {
  /** Of one address, said hello or not: those beyond push out the oldest, as one that is meant well takes milliseconds. */
  readonly perAddress: number;
  /** How long a connection may take until it has said hello and had its turn. */
  readonly waitMs: number;
  readonly rounds: Pick<Rounds<object>, 'begin'>;
  /** To the TLS library, which reads what the socket holds. */
  readonly handOver: (socket: Socket) => void;
}

/** Of one address: what all of them send next is worked on in one round of the event loop. */
const underWayAtOnce = 8;
/** Who is slower gives its place to the next of its address: 256 who say hello and no more hold up the last for 8 s. */
const placeMs = 250;
/** Of one address: they may go on all at once. Beyond, the oldest goes. */
const slowAtOnce = 128;

const recordHeader = 5;
const handshakeRecord = 0x16;
const maxRecord = 1 << 14;
const none = Buffer.alloc(0);

/** Clients say hello in one record; what is none is for the TLS library to refuse. */
function isWhole(bytes: Buffer): boolean {
  if (bytes[0] !== handshakeRecord) return bytes.length > 0;
  return (
    bytes.length >= recordHeader && bytes.length >= recordHeader + Math.min(bytes.readUInt16BE(3), maxRecord)
  );
}

/** Nothing is worked on before the hello is there: who opens connections and is silent takes nobody's place. */
function onceHello(socket: Socket, greeted: () => void): void {
  let bytes: Buffer = none;
  const read = (): void => {
    bytes = Buffer.concat([bytes, (socket.read() as Buffer | null) ?? none]);
    if (!isWhole(bytes)) return;
    socket.off('readable', read);
    socket.off('end', leave);
    socket.unshift(bytes);
    greeted();
  };
  // Its other direction is the TLS library's to end, and that does not know of it yet.
  const leave = (): void => void socket.destroy();
  socket.on('readable', read);
  socket.on('end', leave);
}

/** Both ends: TLS has a socket of its own for the same connection. */
const nameOf = ({ remoteAddress, remotePort, localAddress, localPort }: Peer): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

/** What one address has open without a name. */
interface Guests {
  readonly address: string;
  readonly open: Map<string, Guest>;
  /** They have said hello. */
  readonly waiting: Guest[];
  underWay: number;
  /** They had a place, and their handshake has not ended. */
  readonly slow: Set<Guest>;
}

interface Guest {
  readonly socket: Socket;
  /** For its hello and its turn, then for the place that it has. */
  timer: NodeJS.Timeout;
  hasPlace: boolean;
}

/**
 * A handshake costs a third of a millisecond for the hello and as much for what follows, and the sockets that are readable are all read
 * in one round of the event loop. So hellos are answered in the turns of requests, and a few of an address are under way.
 */
export class Handshakes {
  readonly #options: HandshakeOptions;
  readonly #addresses = new Map<string, Guests>();

  constructor(options: HandshakeOptions) {
    this.#options = options;
  }

  began(socket: Socket): void {
    const { perAddress, waitMs } = this.#options;
    const address = socket.remoteAddress ?? '';
    const first: Guests = { address, open: new Map(), waiting: [], underWay: 0, slow: new Set() };
    const guests = this.#addresses.get(address) ?? first;
    this.#addresses.set(address, guests);
    const guest = { socket, timer: setTimeout(() => socket.destroy(), waitMs), hasPlace: false };
    const name = nameOf(socket);
    guests.open.set(name, guest);
    socket.once('close', () => this.#end(guests, name, guest));
    onceHello(socket, () => {
      guests.waiting.push(guest);
      this.#serve(guests);
    });
    if (guests.open.size <= perAddress) return;
    const [oldest] = guests.open;
    if (oldest === undefined) return;
    // At once: `close` comes later, and until then it would be the oldest again.
    this.#end(guests, ...oldest);
    oldest[1].socket.destroy();
  }

  /** It has a name now. */
  ended(peer: Peer): void {
    const guests = this.#addresses.get(peer.remoteAddress ?? '');
    const name = nameOf(peer);
    const guest = guests?.open.get(name);
    if (guests && guest) this.#end(guests, name, guest);
  }

  #end(guests: Guests, name: string, guest: Guest): void {
    clearTimeout(guest.timer);
    guests.slow.delete(guest);
    this.#leave(guests, guest);
    if (guests.open.get(name) !== guest) return;
    guests.open.delete(name);
    if (guests.open.size === 0) this.#addresses.delete(guests.address);
  }

  #leave(guests: Guests, guest: Guest): void {
    if (!guest.hasPlace) return;
    guest.hasPlace = false;
    guests.underWay--;
    this.#serve(guests);
  }

  #isSlow(guests: Guests, guest: Guest): void {
    guests.slow.add(guest);
    this.#leave(guests, guest);
    if (guests.slow.size <= slowAtOnce) return;
    const [oldest] = guests.slow;
    if (oldest === undefined) return;
    // At once: `close` comes later, and several are slow in one round.
    guests.slow.delete(oldest);
    oldest.socket.destroy();
  }

  #serve(guests: Guests): void {
    while (guests.underWay < underWayAtOnce) {
      const guest = guests.waiting.shift();
      if (guest === undefined) return;
      if (guest.socket.destroyed) continue;
      guest.hasPlace = true;
      guests.underWay++;
      const turn = this.#options.rounds.begin(guests, guests.address);
      if (turn === undefined) this.#begin(guests, guest);
      else void turn.then(() => this.#begin(guests, guest));
    }
  }

  #begin(guests: Guests, guest: Guest): void {
    if (guest.socket.destroyed) return;
    clearTimeout(guest.timer);
    guest.timer = setTimeout(() => this.#isSlow(guests, guest), placeMs);
    this.#options.handOver(guest.socket);
  }
}
