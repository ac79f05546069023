// An OpenID provider: discovery and keys over HTTPS, and tokens signed as asked for, well or not.
import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { type HttpsService, type ServiceAnswer, startHttpsService } from './https-service.ts';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly key: KeyObject;
}

export function rsaKey(kid: string, alg = 'RS256'): SigningKey {
  return { kid, alg, key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey };
}

export function ecKey(kid: string, alg = 'ES256', namedCurve = 'P-256'): SigningKey {
  return { kid, alg, key: generateKeyPairSync('ec', { namedCurve }).privateKey };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const publicPem = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

function signatureOf(input: string, alg: string, key: KeyObject): Buffer {
  if (alg === 'none') return Buffer.alloc(0);
  // The attack of old: a public key taken for a secret.
  if (alg.startsWith('HS'))
    return createHmac(`sha${alg.slice(2)}`, publicPem(key))
      .update(input)
      .digest();
  const how = alg.startsWith('PS')
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: 'ieee-p1363' as const };
  return sign(`sha${alg.slice(2)}`, Buffer.from(input), how);
}

/** `header` wins over what the key says of itself. */
export function signToken({ kid, alg, key }: SigningKey, claims: object, header: object = {}): string {
  const head: { alg: string } = { alg, ...{ kid }, ...header };
  const input = `${encode(head)}.${encode(claims)}`;
  return `${input}.${signatureOf(input, head.alg, key).toString('base64url')}`;
}

export interface OpenIdProvider extends HttpsService {
  /** What it publishes from now on. */
  keys: readonly SigningKey[];
  /** In the place of an answer, by path. */
  readonly instead: Map<string, () => ServiceAnswer | Promise<ServiceAnswer>>;
}

export async function startOpenIdProvider(keys: readonly SigningKey[]): Promise<OpenIdProvider> {
  const instead: OpenIdProvider['instead'] = new Map();
  const service = await startHttpsService((_, path) => {
    const other = instead.get(path);
    if (other !== undefined) return other();
    if (path === '/.well-known/openid-configuration')
      return { body: { issuer: provider.url, jwks_uri: `${provider.url}/keys` } };
    if (path !== '/keys') return { status: 404, body: {} };
    return {
      body: {
        keys: provider.keys.map(({ kid, alg, key }) => ({
          ...createPublicKey(key).export({ format: 'jwk' }),
          kid,
          alg,
          use: 'sig',
        })),
      },
    };
  });
  const provider: OpenIdProvider = { ...service, keys, instead };
  return provider;
}
