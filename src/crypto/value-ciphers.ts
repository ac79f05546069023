// Ciphers of values at rest, in the bytes that kube-apiserver writes: AES-GCM bound to where a value lies, and AES-CBC.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

export interface ValueCipher {
  /** `place`: the value can be read there only. */
  seal(value: Uint8Array, place: string): Buffer;
  /** Throws Error. */
  open(sealed: Uint8Array, place: string): Buffer;
}

const nonceBytes = 12;
const tagBytes = 16;
const blockBytes = 16;
const unauthentic = 'cipher: message authentication failed';
const tooShort = 'the stored data was shorter than the required size';

/** As many keys of one kind are safe with random nonces for 2^32 writes: rotate before. */
export function aesGcm(key: Uint8Array): ValueCipher {
  const name = `aes-${key.length * 8}-gcm` as 'aes-256-gcm';
  return {
    seal(value, place) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(name, key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(place));
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      if (sealed.length < nonceBytes) throw new Error(tooShort);
      if (sealed.length < nonceBytes + tagBytes) throw new Error(unauthentic);
      const end = sealed.length - tagBytes;
      const decipher = createDecipheriv(name, key, sealed.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(end));
      const value = decipher.update(sealed.subarray(nonceBytes, end));
      try {
        return Buffer.concat([value, decipher.final()]);
      } catch (cause) {
        throw new Error(unauthentic, { cause });
      }
    },
  };
}

const infoBytes = 32;
const seedBytes = 32;

export const newSeed = (): Buffer => randomBytes(seedBytes);

/**
 * AES-GCM with a key of its own for each value, out of a seed by HKDF's second half, so that random nonces never wear it out;
 * of the random bytes that make the key comes first what is stored. Throws for a seed that is too short.
 */
export function seededAesGcm(seed: Uint8Array): ValueCipher {
  if (seed.length < seedBytes) throw new Error(`invalid seed length ${seed.length} used for key generation`);
  // One block of SHA-256 is a whole key.
  const cipherOf = (info: Uint8Array): ValueCipher =>
    aesGcm(createHmac('sha256', seed).update(info).update(Buffer.of(1)).digest());
  return {
    seal(value, place) {
      const info = randomBytes(infoBytes);
      return Buffer.concat([info, cipherOf(info).seal(value, place)]);
    },
    open(sealed, place) {
      if (sealed.length < infoBytes) throw new Error(tooShort);
      return cipherOf(sealed.subarray(0, infoBytes)).open(sealed.subarray(infoBytes), place);
    },
  };
}

/** A key that another program made. Throws where it is none. */
export function wholeAesGcm(key: Uint8Array): ValueCipher {
  if (![16, 24, 32].includes(key.length)) throw new Error(`crypto/aes: invalid key size ${key.length}`);
  return aesGcm(key);
}

/** What upstream takes for padding, and what it says of the rest. */
function unpadded(value: Buffer): Buffer {
  const padding = value.at(-1) ?? 0;
  if (padding === 0 || padding > value.length) throw new Error('invalid PKCS7 data (empty or not padded)');
  const end = value.length - padding;
  if (value.subarray(end).some((byte) => byte !== padding)) throw new Error('invalid padding on input');
  return value.subarray(0, end);
}

/** Nothing tells whether its value was changed or moved: for what kube-apiserver wrote so. */
export function aesCbc(key: Uint8Array): ValueCipher {
  const name = `aes-${key.length * 8}-cbc`;
  return {
    seal(value) {
      const iv = randomBytes(blockBytes);
      const cipher = createCipheriv(name, key, iv);
      return Buffer.concat([iv, cipher.update(value), cipher.final()]);
    },
    open(sealed) {
      if (sealed.length < blockBytes) throw new Error(tooShort);
      if (sealed.length % blockBytes !== 0)
        throw new Error('the stored data is not a multiple of the block size');
      const decipher = createDecipheriv(name, key, sealed.subarray(0, blockBytes)).setAutoPadding(false);
      return unpadded(Buffer.concat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]));
    },
  };
}
