// Client certificates of the cluster's authority: CN is the user, each O a group, and a uid may be told.
import { unauthorized } from '../../apimachinery/errors.ts';
import type { Authenticator } from '../../apiserver/authentication/authenticator.ts';
import { bundleCheck } from '../../crypto/subject.ts';

/** Thrown for each certificate that is somebody else's: made once, since that is no rare thing. */
const notOurs = unauthorized();

/** `clientCa`: PEM of the authorities as they are now; what they no longer vouch for is refused, on old connections too. */
export function createX509Authenticator(options: { readonly clientCa: () => string }): Authenticator {
  const isOurs = bundleCheck(options.clientCa);
  return {
    authenticate(request) {
      const certificate = request.clientCertificate;
      if (certificate === undefined) return undefined;
      if (!isOurs(certificate)) throw notOurs;
      const { CN, O, uids = [] } = certificate.subject;
      // As upstream: a certificate without a common name names nobody; the next credential is asked.
      if (CN === undefined || CN === '') return undefined;
      // One that could be of two, or of somebody without a uid, is nobody's.
      if (uids.length > 1 || uids[0] === '') throw notOurs;
      const digest = certificate.fingerprint.replaceAll(':', '').toLowerCase();
      return {
        name: CN,
        ...(uids[0] === undefined ? {} : { uid: uids[0] }),
        groups: O,
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${digest}`] },
      };
    },
  };
}
