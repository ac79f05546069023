// Bootstrap tokens as Secrets of kube-system: what they hold, and until when they are good.
import type { Secret } from '../api/generated/types/core-v1.ts';
import { readRfc3339 } from '../base/rfc3339.ts';

const tokenType = 'bootstrap.kubernetes.io/token';
const namePrefix = 'bootstrap-token-';

export const isBootstrapToken = ({ type, metadata }: Secret): boolean =>
  type === tokenType && metadata.namespace === 'kube-system';

const textIn = ({ data }: Secret, key: string): string =>
  Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');

/** Milliseconds since the epoch; undefined for a token that stays. A time that can't be read has passed, as upstream. */
export function expirationOf(secret: Secret): number | undefined {
  const text = textIn(secret, 'expiration');
  if (text === '') return undefined;
  const at = readRfc3339(text);
  return typeof at === 'number' ? at : 0;
}

export interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

/** A token that vouches for what is public about the cluster; undefined for one that does not, or no more. */
export function signingToken(secret: Secret, now: number): SigningToken | undefined {
  const id = textIn(secret, 'token-id');
  const key = textIn(secret, 'token-secret');
  if (!isBootstrapToken(secret) || id === '' || key === '' || secret.metadata.name !== `${namePrefix}${id}`)
    return undefined;
  const expiration = expirationOf(secret);
  if (expiration !== undefined && expiration <= now) return undefined;
  return textIn(secret, 'usage-bootstrap-signing') === 'true' ? { id, secret: key } : undefined;
}
