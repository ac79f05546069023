// The TLS of the front door: handshakes and bytes in turns, and what both sides may use.
import type { Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls';
import type { Rounds } from '../base/rounds.ts';
import { noRenegotiation } from '../crypto/tls-flags.ts';
import { Handshakes } from './handshakes.ts';
import { type NamedCertificate, NamedCertificates } from './named-certificates.ts';
import { showPeer, socketBeingFed, TurnedSocket } from './turned-socket.ts';

export interface ServerTls {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** CAs that vouch for client certificates. */
  readonly clientCa?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** For those who ask for these names. Whether there are any is said once, at the start. */
  readonly named?: readonly NamedCertificate[] | undefined;
}

export interface TlsDoorOptions {
  readonly tls: ServerTls;
  readonly handshakeTimeoutMs: number | undefined;
  readonly rounds: Rounds<object>;
  /** It is known who they are, or that they did not say. */
  readonly entered: (socket: TLSSocket, bytes: TurnedSocket) => void;
}

const limits = { handshakeTimeoutMs: 10_000, handshakesPerAddress: 1024 } as const;

/** Forward secrecy and authenticated encryption only. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

export class TlsDoor {
  readonly #server: TlsServer;
  readonly #handshakes: Handshakes;
  readonly #entered: TlsDoorOptions['entered'];
  readonly #handshakeTimeoutMs: number;
  /** For those who ask for no name, at an address that has a certificate of its own. */
  readonly #atAddresses = new Map<NamedCertificate, TlsServer>();
  #named: { readonly certificates: NamedCertificates; readonly contexts: Contexts } | undefined;

  constructor({ tls, handshakeTimeoutMs = limits.handshakeTimeoutMs, rounds, entered }: TlsDoorOptions) {
    this.#entered = entered;
    this.#handshakeTimeoutMs = handshakeTimeoutMs;
    this.#name(tls);
    this.#server = this.#openServer(tls);
    this.#handshakes = new Handshakes({
      perAddress: limits.handshakesPerAddress,
      waitMs: handshakeTimeoutMs,
      rounds,
      handOver: (socket) => {
        socket.setNoDelay(true);
        const turned = new TurnedSocket(socket, { rounds, now: () => performance.now() });
        this.#serverAt(socket.localAddress).emit('connection', turned);
      },
    });
  }

  #openServer(tls: ServerTls): TlsServer {
    const server = createTlsServer({
      ...tlsContext(tls),
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: this.#handshakeTimeoutMs,
      ...(this.#named === undefined ? {} : { SNICallback: this.#byName }),
    });
    server.on('secureConnection', (socket) => this.#enter(socket));
    // Node only tells of a handshake that failed or took too long: whoever listens ends the connection.
    server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
    return server;
  }

  #name(tls: ServerTls): void {
    const { named = [] } = tls;
    this.#atAddresses.clear();
    this.#named =
      named.length === 0
        ? undefined
        : {
            certificates: new NamedCertificates(String(tls.cert), named),
            contexts: contextsOf(tls),
          };
  }

  readonly #byName: NonNullable<TlsOptions['SNICallback']> = (name, done) => {
    const { certificates, contexts } = this.#named!;
    done(null, contexts(certificates.ofName(name)));
  };

  #serverAt(address = ''): TlsServer {
    const own = this.#named?.certificates.ofAddress(address);
    if (own === undefined) return this.#server;
    let server = this.#atAddresses.get(own);
    if (server === undefined) {
      server = this.#openServer({ ...own, clientCa: this.#named!.contexts.clientCa });
      this.#atAddresses.set(own, server);
    }
    return server;
  }

  accept(socket: Socket): void {
    this.#handshakes.began(socket);
  }

  /** New certificates for new connections. */
  setTls(tls: ServerTls): void {
    this.#name(tls);
    this.#server.setSecureContext(tlsContext(tls));
  }

  #enter(socket: TLSSocket): void {
    const turned = socketBeingFed();
    if (turned === undefined) {
      socket.destroy();
      return;
    }
    turned.handshakeEnded();
    showPeer(socket, turned.raw);
    this.#handshakes.ended(turned.raw);
    this.#entered(socket, turned);
  }
}

/** undefined: the usual one. */
interface Contexts {
  (of: NamedCertificate | undefined): SecureContext;
  readonly clientCa: ServerTls['clientCa'];
}

/** Each made when it is first asked for. */
function contextsOf(tls: ServerTls): Contexts {
  const made = new Map<NamedCertificate | undefined, SecureContext>();
  const contextOf = (of: NamedCertificate | undefined): SecureContext => {
    let context = made.get(of);
    if (context === undefined) {
      context = createSecureContext(tlsContext({ ...(of ?? tls), clientCa: tls.clientCa }));
      made.set(of, context);
    }
    return context;
  };
  return Object.assign(contextOf, { clientCa: tls.clientCa });
}

function tlsContext(tls: ServerTls): {
  key: string | Buffer;
  cert: string | Buffer;
  minVersion: 'TLSv1.2';
  ciphers: string;
  secureOptions: number;
  ca?: (string | Buffer)[];
} {
  const ca = tls.clientCa;
  return {
    key: tls.key,
    cert: tls.cert,
    minVersion: 'TLSv1.2',
    ciphers,
    secureOptions: noRenegotiation,
    ...(ca === undefined ? {} : { ca: (Array.isArray(ca) ? [...ca] : [ca]) as (string | Buffer)[] }),
  };
}
