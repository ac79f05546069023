// Ends streaming sessions whose client left while nobody read what it had sent, or whose container is no more.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connectionKey, type Endpoints, readAttachedConnections } from '../component-base/tcp-table.ts';

/** As Go's servers ask a silent peer whether it is there. */
const keepAliveMs = 15_000;
/** Ten seconds of looks, as for a peer that does not take the last bytes. */
const looks = { everyMs: 2500, untilEnded: 4 } as const;

export interface SessionOptions {
  /** What the session was for has ended, so that nothing more is read or written. */
  readonly over?: () => boolean;
  /** Writes what the protocol has every client ignore, if it may be written now. */
  readonly nudge?: () => void;
}

interface Session extends SessionOptions {
  readonly key: string;
  /** Bytes that came and went until the last look. */
  moved: number;
  /** Looks in a row at which nothing moved and nobody was there. */
  lost: number;
}

const movedBy = (client: Socket): number => client.bytesRead + client.bytesWritten;

/**
 * A socket that is paused, because the other side takes nothing, does not tell that its peer has closed or reset the
 * connection. The kernel knows: it is asked for all of them at once, and only while there are some at which nothing moves.
 * It does not know of a peer that closed when our buffers were full: its end waits in its kernel behind what it had sent.
 * Such a kernel resets the connection when something new comes, so something is sent.
 */
export class SessionClients {
  readonly #sessions = new Map<Socket, Session>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number = looks.everyMs) {
    this.#everyMs = everyMs;
  }

  add(client: Duplex, options: SessionOptions = {}): void {
    if (!(client instanceof Socket) || client.destroyed) return;
    // A connection that was reset before it was accepted has no other end that the kernel could be asked for.
    if (client.remoteAddress === undefined) {
      client.destroy();
      return;
    }
    client.setKeepAlive(true, keepAliveMs);
    const key = connectionKey(client as unknown as Endpoints);
    const isKnown = this.#sessions.has(client);
    this.#sessions.set(client, { ...options, key, moved: 0, lost: 0 });
    if (isKnown) return;
    client.once('close', () => {
      this.#sessions.delete(client);
      if (this.#sessions.size === 0) clearTimeout(this.#timer);
    });
    if (this.#sessions.size === 1) this.#lookLater();
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), this.#everyMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const still = [...this.#sessions].filter(([client, session]) => {
      const before = session.moved;
      session.moved = movedBy(client);
      if (session.moved !== before) session.lost = 0;
      return session.moved === before;
    });
    const there = still.some(([client]) => client.isPaused()) ? await readAttachedConnections() : undefined;
    for (const [client, session] of still) {
      const left = client.isPaused() && there?.has(session.key) === false;
      const ended = client.writableLength === 0 && session.over?.() === true;
      session.lost = left || ended ? session.lost + 1 : 0;
      if (session.lost >= looks.untilEnded) client.destroy();
      else if (client.isPaused() && !left) nudge(client, session);
    }
    if (this.#sessions.size > 0) this.#lookLater();
  }
}

/** Not when something waits to be sent anyway. What a nudge writes is no sign of life. */
function nudge(client: Socket, session: Session): void {
  if (client.destroyed || client.writableLength > 0) return;
  session.nudge?.();
  session.moved = movedBy(client);
}

/** Of this process. */
export const sessionClients: SessionClients = new SessionClients();
