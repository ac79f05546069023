// Key sets of others (RFC 7517), and signatures by them: what a key is decides what a token may say that it was signed with.
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { ReadJwt } from './jwt.ts';

interface Algorithm {
  readonly type: 'rsa' | 'ec';
  readonly hash: string;
  readonly curve?: string;
  readonly pss?: true;
}

/** Upstream's list. No secret is among them: a public key is nothing that a signature could be made with. */
const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['RS256', { type: 'rsa', hash: 'sha256' }],
  ['RS384', { type: 'rsa', hash: 'sha384' }],
  ['RS512', { type: 'rsa', hash: 'sha512' }],
  ['PS256', { type: 'rsa', hash: 'sha256', pss: true }],
  ['PS384', { type: 'rsa', hash: 'sha384', pss: true }],
  ['PS512', { type: 'rsa', hash: 'sha512', pss: true }],
  ['ES256', { type: 'ec', hash: 'sha256', curve: 'prime256v1' }],
  ['ES384', { type: 'ec', hash: 'sha384', curve: 'secp384r1' }],
  ['ES512', { type: 'ec', hash: 'sha512', curve: 'secp521r1' }],
]);

export const signingAlgorithms: readonly string[] = [...algorithms.keys()];

export interface PublicKey {
  readonly kid: string | undefined;
  /** The only algorithm that its owner uses it with, if that is said. */
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

/** As Go's crypto/rsa: smaller ones are no protection. */
const minRsaBits = 1024;
/** Larger ones only make each token of a stranger dearer; Go's TLS has the same bound. */
const maxRsaBits = 8192;
/** As Go's crypto/rsa. */
const maxRsaExponent = 2n ** 31n - 1n;
/** A provider has two or three; each one is tried for a token that names none. */
const maxKeys = 64;

function isUsualRsa({
  asymmetricKeyDetails: { modulusLength = 0, publicExponent = 0n } = {},
}: KeyObject): boolean {
  return modulusLength >= minRsaBits && modulusLength <= maxRsaBits && publicExponent <= maxRsaExponent;
}

function publicKeyOf(value: unknown): PublicKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kty, use, kid, alg, n, e, crv, x, y } = value as Record<string, unknown>;
  if (use !== undefined && use !== 'sig') return undefined;
  if (kty !== 'RSA' && kty !== 'EC') return undefined;
  try {
    const key = createPublicKey({
      key: kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y },
      format: 'jwk',
    } as Parameters<typeof createPublicKey>[0]);
    if (kty === 'RSA' && !isUsualRsa(key)) return undefined;
    return {
      kid: typeof kid === 'string' ? kid : undefined,
      alg: typeof alg === 'string' ? alg : undefined,
      key,
    };
  } catch {
    // One key that cannot be read does not take the others away.
    return undefined;
  }
}

/** The keys of a set that sign; undefined when it is none. */
export function readKeySet(value: unknown): PublicKey[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { keys } = value as { keys?: unknown };
  if (!Array.isArray(keys)) return undefined;
  return keys
    .slice(0, maxKeys)
    .map(publicKeyOf)
    .filter((key) => key !== undefined);
}

const fits = ({ key }: PublicKey, { type, curve }: Algorithm): boolean =>
  key.asymmetricKeyType === type && (curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve);

/** Whether one of the keys signed this. A key id of the token chooses among them. */
export function isSignedBy({ header, signed, signature }: ReadJwt, keys: readonly PublicKey[]): boolean {
  const { alg, kid } = header;
  const algorithm = typeof alg === 'string' ? algorithms.get(alg) : undefined;
  if (algorithm === undefined) return false;
  const data = Buffer.from(signed);
  return keys.some(
    (one) =>
      (kid === undefined || one.kid === kid) &&
      (one.alg === undefined || one.alg === alg) &&
      fits(one, algorithm) &&
      verify(
        algorithm.hash,
        data,
        algorithm.pss
          ? {
              key: one.key,
              padding: constants.RSA_PKCS1_PSS_PADDING,
              saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
            }
          : { key: one.key, dsaEncoding: 'ieee-p1363' },
        signature,
      ),
  );
}
