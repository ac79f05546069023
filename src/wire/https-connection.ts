// A TLS connection to a server of others, on which one question is asked after the other.
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import { AnswerReader, BrokenOffError, type WholeAnswer } from './answer-reader.ts';

export interface ConnectionTarget extends Pick<ConnectionOptions, 'secureContext' | 'session'> {
  readonly host: string;
  readonly port: number;
  /** Whom the certificate must name. Default: the host. */
  readonly serverName?: string | undefined;
  readonly verify: boolean;
  readonly maxAnswerBytes: number;
}

interface Asking {
  resolve(answer: WholeAnswer): void;
  reject(error: Error): void;
}

export interface ConnectionEvents {
  /** What the next connection to it may begin with. */
  session(session: Buffer): void;
  closed(failed: boolean): void;
}

const maxHeaderBytes = 1 << 16;
/** As Go's transport keeps them. */
const idleMs = 90_000;
const firstProbeMs = 1_000;

export class HttpsConnection {
  readonly #socket: TLSSocket;
  readonly #reader: AnswerReader;
  #asking: Asking | undefined;
  /** What waits for the handshake. */
  #unsent: Buffer | string | undefined;
  #isSecure = false;
  #hasAnswered = false;
  #keepsAlive = true;

  constructor(target: ConnectionTarget, events: ConnectionEvents) {
    const { host, port, serverName = host, verify, maxAnswerBytes, secureContext, session } = target;
    this.#reader = new AnswerReader({ headBytes: maxHeaderBytes, bodyBytes: maxAnswerBytes });
    this.#socket = connect({
      host,
      port,
      // An address is no name to ask for, but the certificate must name it, whoever was dialled.
      servername: isIP(serverName) === 0 ? serverName : '',
      checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
      rejectUnauthorized: verify,
      ALPNProtocols: ['http/1.1'],
      secureContext,
      session,
    });
    const socket = this.#socket;
    socket.setTimeout(idleMs);
    socket.on('timeout', () => this.#asking === undefined && socket.destroy());
    socket.once('secureConnect', () => this.#secured());
    socket.on('session', (next: Buffer) => events.session(next));
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.once('end', () => this.#ended());
    socket.on('error', (error) => this.destroy(error));
    socket.once('close', (failed) => {
      this.destroy();
      this.#reader.close();
      events.closed(failed);
    });
  }

  /** It had answered before, and has not begun to now: its server may have ended it while a question was on its way. */
  get mayHaveMissed(): boolean {
    return this.#hasAnswered && !this.#reader.hasBegun;
  }

  /** It may be asked again. */
  get isUsable(): boolean {
    return this.#keepsAlive && !this.#socket.destroyed;
  }

  /** It may be asked now: behind a question that its server has answered before it was taken the next ones would gather. */
  get isFree(): boolean {
    return this.isUsable && this.#socket.writableLength === 0;
  }

  /** `question`: head and body. One after the other. */
  ask(question: Buffer | string): Promise<WholeAnswer> {
    this.#reader.begin();
    this.#socket.ref();
    return new Promise((resolve, reject) => {
      this.#asking = { resolve, reject };
      if (this.#isSecure) this.#socket.write(question);
      else this.#unsent = question;
    });
  }

  /** Who rests keeps no process. */
  rest(): void {
    this.#socket.unref();
  }

  /** Whoever waits for an answer is told why there is none. */
  destroy(why: Error = new BrokenOffError('socket hang up')): void {
    this.#keepsAlive = false;
    this.#socket.destroy();
    this.#asking?.reject(why);
    this.#asking = undefined;
  }

  #secured(): void {
    this.#isSecure = true;
    this.#socket.setNoDelay(true);
    this.#socket.setKeepAlive(true, firstProbeMs);
    if (this.#unsent !== undefined) this.#socket.write(this.#unsent);
    this.#unsent = undefined;
  }

  #read(bytes: Buffer): void {
    // What nobody has asked for.
    if (this.#asking === undefined) {
      this.destroy();
      return;
    }
    try {
      const answer = this.#reader.read(bytes);
      if (answer !== undefined) this.#answer(answer);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  /** Its server asks for no more, which may be how an answer ends. */
  #ended(): void {
    this.#keepsAlive = false;
    try {
      if (this.#asking === undefined) this.destroy();
      else this.#answer(this.#reader.ended());
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #answer(answer: WholeAnswer): void {
    this.#hasAnswered = true;
    const hint = hintedMs(answer);
    // Most servers say the same each time.
    if (hint > 0 && hint < idleMs && this.#socket.timeout !== hint) this.#socket.setTimeout(hint);
    this.#asking!.resolve(answer);
    this.#asking = undefined;
    if (!this.#keepsAlive || !answer.keepsAlive || hint <= 0) this.destroy();
  }
}

/** How long the server says that it waits for the next question, and a second less: what is on its way then would be lost. */
function hintedMs(answer: WholeAnswer): number {
  const seconds = /^timeout=(\d{1,6})/.exec(answer.header('keep-alive'))?.[1];
  return seconds === undefined ? idleMs : (Number(seconds) - 1) * 1_000;
}
