// Connections kept for the next question: an idle one makes room for a server that has none.
import type { ClientRequest } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';

/** As Go's transport keeps them. */
const idleMs = 90_000;
const maxIdleOfOne = 8;
/** Of what is known about certificates; a place is more than enough for each configuration of a cluster. */
const maxKnown = 256;

type Credentials = Pick<RequestOptions, 'ca' | 'cert' | 'key'>;

/** Certificates by number: to read them, or to compare their texts, costs more than a question. */
class KnownCredentials {
  readonly #numbers = new Map<unknown, number>();
  readonly #contexts = new Map<string, SecureContext>();
  #last = 0;

  /** The same for the same texts; of lists that are equal, perhaps another. Never given again to others. */
  nameOf({ ca, cert, key }: Credentials): string {
    return `${this.#numberOf(ca)} ${this.#numberOf(cert)} ${this.#numberOf(key)}`;
  }

  contextOf(credentials: Credentials): SecureContext {
    const { ca, cert, key } = credentials;
    const name = this.nameOf(credentials);
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

/** Whoever asks has a place among `most` already: when all connections are taken, one of them is idle. */
export class KeptConnections extends Agent {
  readonly #most: number;
  readonly #known = new KnownCredentials();
  readonly #open = new Set<Duplex>();
  /** Who was idle for longest comes first. */
  readonly #idle = new Set<Duplex>();

  constructor(most: number) {
    super({ keepAlive: true, scheduling: 'lifo', maxFreeSockets: maxIdleOfOne, timeout: idleMs });
    this.#most = most;
  }

  /** Which connections may answer a question, as Node's own name, which has whole certificates in it. */
  override getName(options: RequestOptions = {}): string {
    // Node's own note of the name under which it keeps a connection: certificates are numbered anew when there are many.
    const { _agentKey: known } = options as { readonly _agentKey?: unknown };
    if (typeof known === 'string') return known;
    const { host, port, servername, rejectUnauthorized } = options;
    return `${host} ${port} ${servername} ${rejectUnauthorized} ${this.#known.nameOf(options)}`;
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
    const trusting: Pick<ConnectionOptions, 'secureContext'> = {
      secureContext: this.#known.contextOf(options),
    };
    const socket = super.createConnection({ ...options, ...trusting }, callback);
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
