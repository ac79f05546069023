// XSalsa20 with Poly1305 over values at rest, in the bytes that kube-apiserver writes: nonce, tag, value.
import { randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { ValueCipher } from './value-ciphers.ts';

const nonceBytes = 24;
const tagBytes = 16;

/** Random nonces of this length never meet. Nothing binds a value to its place. */
export function secretbox(key: Uint8Array): ValueCipher {
  return {
    seal(value) {
      const nonce = randomBytes(nonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(value)]);
    },
    open(sealed) {
      if (sealed.length < nonceBytes + tagBytes)
        throw new Error('the stored data was shorter than the required size');
      try {
        const value = xsalsa20poly1305(key, sealed.subarray(0, nonceBytes)).decrypt(
          sealed.subarray(nonceBytes),
        );
        return Buffer.from(value.buffer, value.byteOffset, value.length);
      } catch (cause) {
        // Upstream's words for a value that was changed, or another key.
        throw new Error('output array was not large enough for encryption', { cause });
      }
    },
  };
}
