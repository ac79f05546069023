// Private keys: ECDSA P-256, made fast and kept as PKCS#8 PEM.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

export type { KeyObject } from 'node:crypto';

/** A new ECDSA P-256 private key. */
export const generatePrivateKey = (): KeyObject =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export const privateKeyToPem = (key: KeyObject): string =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();

export const publicKeyToPem = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

/** Reads PKCS#8, PKCS#1 and SEC 1 PEM. Throws Error for anything else. */
export const privateKeyFromPem = (pem: string): KeyObject => createPrivateKey(pem);

/** Reads SubjectPublicKeyInfo. Throws Error for anything else. */
export const publicKeyFromDer = (der: Buffer): KeyObject =>
  createPublicKey({ key: der, format: 'der', type: 'spki' });

/** False when a damaged file still parses, but what the key signs is not vouched for by its public half. */
export function isWhole(key: KeyObject): boolean {
  const probe = Buffer.from('probe');
  return verify('sha256', probe, createPublicKey(key), sign('sha256', probe, key));
}

/** True when one of the public keys of the text is this key's. */
export function holdsPublicKey(publicPem: string, key: KeyObject): boolean {
  const own = publicKeyToPem(key);
  const blocks =
    publicPem.match(/-----BEGIN [A-Z ]*PUBLIC KEY-----[^-]+-----END [A-Z ]*PUBLIC KEY-----/g) ?? [];
  return blocks.some((block) => {
    try {
      return createPublicKey(block).export({ type: 'spki', format: 'pem' }).toString() === own;
    } catch {
      return false; // damaged
    }
  });
}

/** The public keys of a text: such keys themselves, or those of private ones and certificates. Throws when there is none. */
export function publicKeysOf(pem: string): KeyObject[] {
  const blocks = pem.match(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g) ?? [];
  const keys = blocks
    .filter((block) => !block.includes('EC PARAMETERS'))
    .map((block) => createPublicKey(block));
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys');
  return keys;
}
