// The client certificate of a TLS connection: read once for each connection, its dates looked at for each request.
import { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { certificateFacts } from '../crypto/subject.ts';
import type { ClientCertificate } from './http-message.ts';

export interface PeerIdentity {
  readonly certificate?: ClientCertificate;
  readonly error?: string;
}

/** Who is at the other end of a socket, now. */
export type PeerIdentities = (socket: unknown) => PeerIdentity;

const nobody: PeerIdentity = {};
/** A connection that is kept, or taken up again, must not outlive what let it in. */
const ended: PeerIdentity = { error: 'x509: certificate has expired or is not yet valid' };

/** Who the certificate names, or why it names nobody. */
function identityOf(raw: Buffer, fingerprint: string): PeerIdentity {
  try {
    const { subject, notBefore, notAfter } = certificateFacts(raw);
    return { certificate: { raw, fingerprint, subject, notBefore, notAfter } };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function readPeer(socket: TLSSocket): PeerIdentity {
  const peer = socket.getPeerCertificate(false);
  if (peer?.raw === undefined) return nobody;
  if (!socket.authorized) return { error: String(socket.authorizationError ?? 'certificate is not trusted') };
  return identityOf(peer.raw, peer.fingerprint256);
}

export function peerIdentities(clock: Pick<Clock, 'now'>): PeerIdentities {
  const known = new WeakMap<object, PeerIdentity>();
  return (socket) => {
    if (!(socket instanceof TLSSocket)) return nobody;
    let identity = known.get(socket);
    if (identity === undefined) {
      identity = readPeer(socket);
      known.set(socket, identity);
    }
    const { certificate } = identity;
    if (certificate === undefined) return identity;
    const now = clock.now();
    return now < certificate.notBefore || now > certificate.notAfter ? ended : identity;
  };
}
