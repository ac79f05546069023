// Ends streaming sessions whose client left while nobody read what it had sent, or whose container is no more.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connectionKey, type Endpoints, readAttachedConnections } from '../component-base/tcp-table.ts';

/** As Go's servers ask a silent peer whether it is there. */
const keepAliveMs = 15_000;
/** Ten seconds of looks, as for a peer that does not take the last bytes. */
const looks = { everyMs: 2500, untilEnded: 4 } as const;

interface Session {
  readonly key: string;
  readonly over: () => boolean;
  /** Bytes that came and went until the last look. */
  moved: number;
  /** Looks in a row at which nothing moved and nobody was there. */
  lost: number;
}

/**
 * A socket that is paused, because the other side takes nothing, does not tell that its peer has closed or reset the
 * connection. The kernel knows: it is asked for all of them at once, and only while there are some at which nothing moves.
 */
export class SessionClients {
  readonly #sessions = new Map<Socket, Session>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number = looks.everyMs) {
    this.#everyMs = everyMs;
  }

  /** `over`: what the session was for has ended, so that nothing more is read or written. */
  add(client: Duplex, over: () => boolean = () => false): void {
    if (!(client instanceof Socket) || client.destroyed) return;
    client.setKeepAlive(true, keepAliveMs);
    const key = connectionKey(client as unknown as Endpoints);
    this.#sessions.set(client, { key, over, moved: 0, lost: 0 });
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
      session.moved = client.bytesRead + client.bytesWritten;
      if (session.moved !== before) session.lost = 0;
      return session.moved === before;
    });
    const there = still.some(([client]) => client.isPaused()) ? await readAttachedConnections() : undefined;
    for (const [client, session] of still) {
      const left = client.isPaused() && there?.has(session.key) === false;
      const ended = client.writableLength === 0 && session.over();
      session.lost = left || ended ? session.lost + 1 : 0;
      if (session.lost >= looks.untilEnded) client.destroy();
    }
    if (this.#sessions.size > 0) this.#lookLater();
  }
}

/** Of this process. */
export const sessionClients: SessionClients = new SessionClients();
