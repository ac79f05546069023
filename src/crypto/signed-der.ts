// What certificates and requests have in common: extensions, and a signature over what is said, as PEM.
import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { childAt, childrenOf, DerError, derTag, readDer } from './der.ts';
import { der, derBits, derOid } from './der-writer.ts';

const derTrue = der(derTag.boolean, Buffer.from([0xff]));

export const derExtension = (oid: string, value: Uint8Array, critical = false): Buffer =>
  der(derTag.sequence, derOid(oid), ...(critical ? [derTrue] : []), der(derTag.octetString, value));

/** The SubjectPublicKeyInfo of a key, or of a private one's public half. */
export const publicKeyDer = (key: KeyObject): Buffer =>
  (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' });

/** SHA-1 of the key's bits, as RFC 5280 names keys: no more than a name. */
export function keyIdentifier(spki: Uint8Array): Buffer {
  const bits = childAt(childrenOf(readDer(spki, derTag.sequence)), 1, derTag.bitString);
  return createHash('sha1').update(bits.content.subarray(1)).digest();
}

const derNull = der(0x05);
/** Both with SHA-256. */
const algorithms: Readonly<Record<string, Buffer>> = {
  ec: der(derTag.sequence, derOid('1.2.840.10045.4.3.2')),
  rsa: der(derTag.sequence, derOid('1.2.840.113549.1.1.11'), derNull),
};

/** The AlgorithmIdentifier of what a key signs with. Throws for keys of other kinds. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  const algorithm = algorithms[String(key.asymmetricKeyType)];
  if (algorithm === undefined)
    throw new DerError(
      `x509: unsupported private key type ${key.asymmetricKeyType}: ECDSA and RSA keys sign`,
    );
  return algorithm;
}

/** `what` with its signature. */
export const signedDer = (what: Uint8Array, key: KeyObject): Buffer =>
  der(derTag.sequence, what, signatureAlgorithm(key), derBits(sign('sha256', what, key)));

export const toPem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;
