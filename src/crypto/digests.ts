// Digests, constant-time comparison and random tokens.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export const sha256Hex = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** Compares secrets without telling by time where they differ. */
export function equalSecrets(a: string, b: string): boolean {
  const left = createHash('sha256').update(a).digest();
  const right = createHash('sha256').update(b).digest();
  return timingSafeEqual(left, right);
}

/** Random lower-case letters and digits: token ids and secrets of bootstrap tokens. */
export function randomToken(length: number): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
  let text = '';
  // Bytes past the last whole multiple are dropped, so that every character is equally likely.
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 252 && text.length < length) text += alphabet[byte % 36];
    }
  }
  return text;
}
