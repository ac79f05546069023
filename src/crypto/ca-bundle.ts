// Whether a bundle names any authority that a TLS client could trust, in the words of the client of upstream's webhooks.
import { X509Certificate } from 'node:crypto';

const certificate = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;
const anyBlock = /-----BEGIN [A-Z0-9 ]+-----/;
/** Bundles have fewer; whoever writes thousands that are none is not waited for. */
const mostTried = 100;

/** Of PEM; undefined: it has one at least. */
export function caBundleFault(pem: string): string | undefined {
  const why = faultOf(pem);
  return why === undefined ? undefined : `unable to load root certificates: ${why}`;
}

function faultOf(pem: string): string | undefined {
  let tried = 0;
  for (const [, body = ''] of pem.matchAll(certificate)) {
    if (++tried > mostTried) break;
    try {
      void new X509Certificate(Buffer.from(body, 'base64'));
      return undefined;
    } catch {
      // The next may be one.
    }
  }
  if (tried > 0) return 'failed to parse certificate: x509: malformed certificate';
  return anyBlock.test(pem)
    ? 'no valid certificate authority data seen'
    : 'unable to parse bytes as PEM block';
}
