// Digests, constant-time comparison and random tokens.
import { createHash, timingSafeEqual } from 'node:crypto';

export const sha256Hex = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** Compares secrets without telling by time where they differ. */
export function equalSecrets(a: string, b: string): boolean {
  const left = createHash('sha256').update(a).digest();
  const right = createHash('sha256').update(b).digest();
  return timingSafeEqual(left, right);
}
