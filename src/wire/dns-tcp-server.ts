// DNS over TCP for strangers: who does not read is not answered any more, and nobody takes all the connections.
import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { DnsFrames, framed } from './dns-frames.ts';

export interface DnsTcpOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Undefined: no answer is sent. */
  handle(packet: Buffer, source: string): Promise<Buffer | undefined>;
}

export interface DnsTcpServer {
  readonly server: Server;
  /** Ends all connections. */
  cut(): void;
}

/** Without a question for so long, a connection is let go. */
export const idleMs = 10_000;
/** Answers that wait for their reader for longer end the connection. */
export const drainMs = 10_000;
/** Answers that a client has not read, before no more of its questions are. */
export const maxUnsentBytes: number = 64 << 10;
export const maxConnections = 512;
/** A node's own programs and its host-network pods are one source. */
export const maxConnectionsOfSource = 64;
/** Answers of one connection that are still being made. */
const maxPipelined = 16;
export const maxQuestionsOfSource: number = maxConnectionsOfSource * maxPipelined;

interface Ports extends DnsTcpOptions {
  readonly source: string;
}

class Connection {
  readonly #socket: Socket;
  readonly #ports: Ports;
  readonly #frames = new DnsFrames();
  #pending = 0;
  /** What the next answer may add: as much as the largest before it. */
  #largest = 512;
  #ended = false;
  #activeMs: number;
  #cancelIdle: () => void = () => {};
  #cancelDrain: (() => void) | undefined;

  constructor(socket: Socket, ports: Ports) {
    this.#socket = socket;
    this.#ports = ports;
    this.#activeMs = ports.clock.monotonic();
    socket.on('data', (data: Buffer) => {
      this.#frames.push(data);
      this.#serve();
    });
    socket.on('end', () => {
      this.#ended = true;
      this.#serve();
    });
    socket.on('drain', () => {
      this.#cancelDrain?.();
      this.#cancelDrain = undefined;
      this.#serve();
    });
    socket.on('error', () => socket.destroy()); // the client went away
    socket.on('close', () => {
      this.#cancelIdle();
      this.#cancelDrain?.();
    });
    this.#look(idleMs);
  }

  end(): void {
    this.#socket.destroy();
  }

  /** Bytes alone are no sign of life: questions are. */
  #look(ms: number): void {
    const { clock } = this.#ports;
    this.#cancelIdle = clock.timer(ms, () => {
      const left = this.#pending > 0 ? idleMs : this.#activeMs + idleMs - clock.monotonic();
      if (left > 0) this.#look(left);
      else this.end();
    });
  }

  #hasRoom(): boolean {
    const unsent = this.#socket.writableLength + this.#pending * this.#largest;
    return this.#pending < maxPipelined && unsent < maxUnsentBytes;
  }

  /** Questions that there is no room for stay where they are: in the frames that were read, and in the client's socket. */
  #serve(): void {
    const socket = this.#socket;
    let packet: Buffer | undefined;
    while (this.#hasRoom()) {
      packet = this.#frames.next();
      if (packet === undefined) break;
      this.#answer(packet);
    }
    if (!this.#hasRoom()) socket.pause();
    else if (!this.#ended) socket.resume();
    else if (this.#pending === 0) socket.end();
  }

  #answer(packet: Buffer): void {
    const { clock, handle, source } = this.#ports;
    this.#pending++;
    this.#activeMs = clock.monotonic();
    handle(packet, source).then(
      (answer) => {
        this.#pending--;
        if (answer !== undefined) this.#send(framed(answer));
        if (!this.#socket.destroyed) this.#serve();
      },
      () => this.end(),
    );
  }

  #send(bytes: Buffer): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    this.#activeMs = this.#ports.clock.monotonic();
    this.#largest = Math.max(this.#largest, bytes.length);
    if (socket.write(bytes) || this.#cancelDrain) return;
    this.#cancelDrain = this.#ports.clock.timer(drainMs, () => this.end());
  }
}

export function serveDnsTcp(options: DnsTcpOptions): DnsTcpServer {
  /** In the order of their coming. */
  const bySource = new Map<string, Set<Connection>>();
  let total = 0;

  function forget(source: string, connection: Connection): void {
    const own = bySource.get(source);
    if (own?.delete(connection)) total--;
    if (own?.size === 0) bySource.delete(source);
  }

  /** The oldest of the source that has most gives way, unless that would be no fairer than before. */
  function makeRoom(own: number): boolean {
    const [source, most] = [...bySource].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    if (most.size <= own + 1) return false;
    const [oldest] = most;
    if (oldest === undefined) return false;
    forget(source, oldest);
    oldest.end();
    return true;
  }

  const server = createServer({ allowHalfOpen: true, highWaterMark: maxUnsentBytes }, (socket) => {
    const source = socket.remoteAddress ?? '';
    const own = bySource.get(source)?.size ?? 0;
    if (own >= maxConnectionsOfSource || (total >= maxConnections && !makeRoom(own))) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, { ...options, source });
    total++;
    bySource.set(source, (bySource.get(source) ?? new Set()).add(connection));
    socket.on('close', () => forget(source, connection));
  });
  return {
    server,
    cut: () => {
      for (const connections of bySource.values()) for (const connection of connections) connection.end();
    },
  };
}
