// Connections kept for the next question: an idle one makes room for a server that has none.
import { createSecureContext, type SecureContext } from 'node:tls';
import { HttpsConnection } from './https-connection.ts';
import { machineAuthorities } from './machine-authorities.ts';

export interface HttpsTarget {
  /** A name or an address; who is dialled. */
  readonly host: string;
  readonly port: number;
  /** Whom the certificate must name. Default: the host. */
  readonly serverName?: string | undefined;
  /** PEM. Default: whom the machine trusts. */
  readonly ca?: string | undefined;
  /** Default true. False: whoever answers is believed. */
  readonly verify?: boolean | undefined;
  /** PEM: who asks. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
}

const maxIdleOfOne = 8;
/** Of what is known about certificates, and of sessions; a place is more than enough for each configuration of a cluster. */
const maxKnown = 256;

interface Credentials {
  readonly ca: string | string[] | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Certificates by number: to read them, or to compare their texts, costs more than a question. */
class KnownCredentials {
  readonly #numbers = new Map<unknown, number>();
  readonly #contexts = new Map<string, SecureContext>();
  #last = 0;

  /** The same for the same texts; of lists that are equal, perhaps another. Never given again to others. */
  nameOf({ ca, cert, key }: Credentials): string {
    return `${this.#numberOf(ca)} ${this.#numberOf(cert)} ${this.#numberOf(key)}`;
  }

  contextOf(name: string, { ca, cert, key }: Credentials): SecureContext {
    let context = this.#contexts.get(name);
    if (context === undefined) {
      context = createSecureContext({ ca, cert, key });
      if (this.#contexts.size >= maxKnown) this.#contexts.clear();
      this.#contexts.set(name, context);
    }
    return context;
  }

  #numberOf(given: unknown): number {
    if (given === undefined) return 0;
    let number = this.#numbers.get(given);
    if (number === undefined) {
      if (this.#numbers.size >= maxKnown) this.#numbers.clear();
      number = ++this.#last;
      this.#numbers.set(given, number);
    }
    return number;
  }
}

export interface KeptConnection {
  readonly connection: HttpsConnection;
  /** To be called once, when the question has ended. */
  giveBack(): void;
}

/** Whoever asks has a place among `most` already: when all connections are taken, one of them is idle. */
export class KeptConnections {
  readonly #most: number;
  readonly #maxAnswerBytes: number;
  readonly #known = new KnownCredentials();
  readonly #open = new Set<HttpsConnection>();
  /** Of those that may answer the same questions the one that was used last comes last. */
  readonly #idleOf = new Map<string, HttpsConnection[]>();
  /** Who was idle for longest comes first, and where it is kept. */
  readonly #idle = new Map<HttpsConnection, string>();
  readonly #sessions = new Map<string, Buffer>();
  #keepsNone = false;

  constructor(most: number, maxAnswerBytes: number) {
    this.#most = most;
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  take(target: HttpsTarget): KeptConnection {
    const { host, port, serverName, verify = true, client, ca = machineAuthorities() } = target;
    const credentials = { ca, cert: client?.certificate, key: client?.key };
    const trusting = this.#known.nameOf(credentials);
    const name = `${host} ${port} ${serverName} ${verify} ${trusting}`;
    const connection =
      this.#reuse(name) ?? this.#connect(name, target, this.#known.contextOf(trusting, credentials));
    return { connection, giveBack: () => this.#giveBack(name, connection) };
  }

  /** From now on each ends with its answer. */
  keepNone(): void {
    this.#keepsNone = true;
    for (const connection of [...this.#idle.keys()]) connection.destroy();
  }

  destroy(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #reuse(name: string): HttpsConnection | undefined {
    // One that has just ended is still there.
    const connection = this.#idleOf.get(name)?.findLast(({ isFree }) => isFree);
    if (connection !== undefined) this.#notIdle(connection);
    return connection;
  }

  #connect(name: string, target: HttpsTarget, secureContext: SecureContext): HttpsConnection {
    const [oldest] = this.#idle.keys();
    if (oldest !== undefined && this.#open.size >= this.#most) {
      this.#gone(oldest);
      oldest.destroy();
    }
    const { host, port, serverName, verify = true } = target;
    const session = this.#sessions.get(name);
    const connection = new HttpsConnection(
      { host, port, serverName, verify, secureContext, session, maxAnswerBytes: this.#maxAnswerBytes },
      {
        session: (next) => {
          if (this.#sessions.size >= maxKnown) this.#sessions.clear();
          this.#sessions.set(name, next);
        },
        closed: (failed) => {
          if (failed) this.#sessions.delete(name);
          this.#gone(connection);
        },
      },
    );
    this.#open.add(connection);
    return connection;
  }

  #giveBack(name: string, connection: HttpsConnection): void {
    const idle = this.#idleOf.get(name) ?? [];
    if (!connection.isUsable) return;
    if (this.#keepsNone || this.#open.size > this.#most || idle.length >= maxIdleOfOne) {
      connection.destroy();
      return;
    }
    connection.rest();
    idle.push(connection);
    this.#idleOf.set(name, idle);
    this.#idle.set(connection, name);
  }

  #notIdle(connection: HttpsConnection): void {
    const name = this.#idle.get(connection);
    if (name === undefined) return;
    this.#idle.delete(connection);
    const idle = this.#idleOf.get(name)!;
    idle.splice(idle.indexOf(connection), 1);
    if (idle.length === 0) this.#idleOf.delete(name);
  }

  #gone(connection: HttpsConnection): void {
    this.#open.delete(connection);
    this.#notIdle(connection);
  }
}
