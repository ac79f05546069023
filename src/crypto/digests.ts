// Digests, constant-time comparison and random tokens.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const sha256Hex = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** Upstream's `storageVersionHash` of discovery: eight bytes of SHA-256, as base64. */
export const storageVersionHash = (stored: string): string =>
  createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');

/** Compares secrets without telling by time where they differ. */
export function equalSecrets(a: string, b: string): boolean {
  const left = createHash('sha256').update(a).digest();
  const right = createHash('sha256').update(b).digest();
  return timingSafeEqual(left, right);
}

export const hmacSha256 = (key: string, data: string): Uint8Array =>
  createHmac('sha256', key).update(data).digest();
