// The client certificate of a TLS connection, read once for each connection.
import { TLSSocket } from 'node:tls';
import type { ClientCertificate } from './http-message.ts';

export interface PeerIdentity {
  readonly certificate?: ClientCertificate;
  readonly error?: string;
}

const known = new WeakMap<object, PeerIdentity>();
const nobody: PeerIdentity = {};

const listOf = (value: unknown): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value.map(String) : [String(value)];

export function peerIdentity(socket: unknown): PeerIdentity {
  if (!(socket instanceof TLSSocket)) return nobody;
  const found = known.get(socket);
  if (found) return found;
  const peer = socket.getPeerCertificate(false);
  let identity = nobody;
  if (peer?.raw !== undefined) {
    const subject = peer.subject as unknown as Record<string, unknown> | undefined;
    const [commonName] = listOf(subject?.['CN']);
    identity = socket.authorized
      ? {
          certificate: {
            raw: peer.raw,
            fingerprint: peer.fingerprint256,
            subject: { CN: commonName, O: listOf(subject?.['O']) },
          },
        }
      : { error: String(socket.authorizationError ?? 'certificate is not trusted') };
  }
  known.set(socket, identity);
  return identity;
}
