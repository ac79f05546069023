// JSON Web Tokens of service accounts: RS256 and, by the key's curve, ES256, ES384 and ES512, checked strictly; `none` and unknown
// algorithms are refused.
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

export type JwtClaims = Readonly<Record<string, unknown>>;

export interface VerificationKey {
  readonly kid: string;
  readonly alg: JwtAlgorithm;
  readonly publicKey: KeyObject;
  /** It is good, and not told of: nothing new is signed with it. */
  readonly isHidden?: boolean;
}

type JwtAlgorithm = 'ES256' | 'ES384' | 'ES512' | 'RS256';

const hashes: Readonly<Record<JwtAlgorithm, string>> = {
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
  RS256: 'sha256',
};

const maxTokenBytes = 64 * 1024;
const base64url = /^[A-Za-z0-9_-]+$/;

/** The bytes of one part; undefined for any other spelling of them, so that a token has one text only. */
function bytesOf(part: string): Buffer | undefined {
  if (!base64url.test(part)) return undefined;
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : undefined;
}

// createPublicKey refuses a key that is public already.
const publicHalf = (key: KeyObject): KeyObject => (key.type === 'public' ? key : createPublicKey(key));

/** As upstream: the unpadded URL-safe base64 of the SHA-256 of the public key's DER. */
export function keyId(key: KeyObject): string {
  const spki = publicHalf(key).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('base64url');
}

/** By the names that OpenSSL has for curves. */
const ofCurve: ReadonlyMap<string | undefined, JwtAlgorithm> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);

function algorithmOf(key: KeyObject): JwtAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType !== 'ec')
    throw new Error(`unknown private key type ${key.asymmetricKeyType}, must be RSA or ECDSA`);
  const algorithm = ofCurve.get(key.asymmetricKeyDetails?.namedCurve);
  if (algorithm === undefined) throw new Error('unknown private key curve, must be 256, 384, or 521');
  return algorithm;
}

/** The public half of a key, with the names under which tokens refer to it. */
export const verificationKey = (key: KeyObject): VerificationKey => namedKey(key, keyId(key));

/** The same of whoever gives keys names of their own. */
export function namedKey(key: KeyObject, kid: string): VerificationKey {
  const publicKey = publicHalf(key);
  return { kid, alg: algorithmOf(publicKey), publicKey };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function signJwt(privateKey: KeyObject, claims: JwtClaims): string {
  const alg = algorithmOf(privateKey);
  const input = `${encode({ alg, kid: keyId(privateKey) })}.${encode(claims)}`;
  const signature = sign(hashes[alg], Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

function decodePart(part: string): Record<string, unknown> | undefined {
  const bytes = bytesOf(part);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The key that a token names, unverified; '' when it names none. */
export function unverifiedKeyId(token: string): string {
  const kid = decodePart(token.slice(0, token.indexOf('.')))?.['kid'];
  return typeof kid === 'string' ? kid : '';
}

/** The claims as written, unverified: for choosing whose token it is. undefined when it is no JWT. */
export function unverifiedClaims(token: string): JwtClaims | undefined {
  if (token.length > maxTokenBytes) return undefined;
  const parts = token.split('.');
  return parts.length === 3 ? decodePart(parts[1]!) : undefined;
}

export interface ReadJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: JwtClaims;
  /** What is signed. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** The parts of a token, unverified. Critical headers are refused: nobody here knows one. */
export function readJwt(token: string): ReadJwt | { readonly refused: string } {
  if (token.length > maxTokenBytes) return { refused: 'the token is too long' };
  const [head, body, mac, rest] = token.split('.');
  if (head === undefined || body === undefined || mac === undefined || rest !== undefined) {
    return { refused: 'the token is no JWT' };
  }
  const header = decodePart(head);
  const claims = decodePart(body);
  const signature = bytesOf(mac);
  if (header === undefined || claims === undefined || signature === undefined) {
    return { refused: 'the token is no JWT' };
  }
  if (header.crit !== undefined) return { refused: 'critical headers are not supported' };
  return { header, claims, signed: `${head}.${body}`, signature };
}

type Verified = { readonly claims: JwtClaims } | { readonly refused: string };

/** The claims when the signature of one of `keys` fits; a reason otherwise. What they say of time is not looked at. */
export function signedClaims(token: string, keys: readonly VerificationKey[]): Verified {
  const read = readJwt(token);
  if ('refused' in read) return read;
  const { header, claims, signed, signature } = read;
  // Whoever names keys may have given one name to several.
  const named = keys.filter((k) => k.kid === header.kid && k.alg === header.alg);
  if (named.length === 0) return { refused: 'no key fits the algorithm and key id of the token' };
  const bytes = Buffer.from(signed);
  const good = named.some(({ alg, publicKey: key }) =>
    verify(hashes[alg], bytes, { key, dsaEncoding: 'ieee-p1363' }, signature),
  );
  return good ? { claims } : { refused: 'the signature is wrong' };
}

/** The same, with its dates checked by `nowMs`: a token without an end is refused. */
export function verifyJwt(token: string, keys: readonly VerificationKey[], nowMs: number): Verified {
  const signed = signedClaims(token, keys);
  if ('refused' in signed) return signed;
  const { claims } = signed;
  const seconds = nowMs / 1000;
  const { exp, nbf } = claims;
  if (typeof exp !== 'number' || exp <= seconds) return { refused: 'the token has expired' };
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > seconds)) {
    return { refused: 'the token is not valid yet' };
  }
  return { claims };
}

const exported = new WeakMap<KeyObject, object>();

/** What a key is, by RFC 7517. Written once: that takes as long as to read it. */
export function jwkOf({ publicKey }: VerificationKey): object {
  let written = exported.get(publicKey);
  if (written === undefined) {
    written = publicKey.export({ format: 'jwk' });
    exported.set(publicKey, written);
  }
  return written;
}

/** RFC 7517 key set, as `/openid/v1/jwks` serves it. */
export function jwks(keys: readonly VerificationKey[]): { readonly keys: readonly object[] } {
  return {
    keys: keys.map((key) => ({
      use: 'sig',
      kty: key.publicKey.asymmetricKeyType === 'rsa' ? 'RSA' : 'EC',
      kid: key.kid,
      alg: key.alg,
      ...jwkOf(key),
    })),
  };
}
