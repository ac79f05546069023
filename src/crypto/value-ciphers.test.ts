// Values at rest: what was sealed is opened where it was sealed, with its key, whole.
import assert from 'node:assert/strict';
import { createCipheriv, createHmac, hkdfSync } from 'node:crypto';
import { test } from 'node:test';
import { aesCbc, aesGcm, seededAesGcm, wholeAesGcm } from './value-ciphers.ts';

const key = (byte: number, bytes = 32): Buffer => Buffer.alloc(bytes, byte);
const value = Buffer.from('{"kind":"Secret"}');
const place = '/registry/secrets/default/a';

test('AES-GCM opens its own value, with every size of key, and no two seals are the same', () => {
  for (const bytes of [16, 24, 32]) {
    const cipher = aesGcm(key(1, bytes));
    assert.deepEqual(cipher.open(cipher.seal(value, place), place), value);
    assert.notDeepEqual(cipher.seal(value, place), cipher.seal(value, place));
  }
});

test("AES-GCM's bytes are nonce, sealed value, tag, as Go's cipher.AEAD writes them", () => {
  const nonce = Buffer.alloc(12, 7);
  const cipher = createCipheriv('aes-256-gcm', key(1), nonce);
  cipher.setAAD(Buffer.from(place));
  const sealed = Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
  assert.deepEqual(aesGcm(key(1)).open(sealed, place), value);
});

test('another key, another place, a flipped bit or a cut: AES-GCM opens nothing', () => {
  const sealed = aesGcm(key(1)).seal(value, place);
  const failed = /^Error: cipher: message authentication failed$/;
  assert.throws(() => aesGcm(key(2)).open(sealed, place), failed);
  assert.throws(() => aesGcm(key(1)).open(sealed, '/registry/secrets/default/b'), failed);
  for (let at = 0; at < sealed.length; at++) {
    const flipped = Buffer.from(sealed);
    flipped[at]! ^= 1;
    assert.throws(() => aesGcm(key(1)).open(flipped, place), failed);
  }
  for (let length = 0; length < sealed.length; length++)
    assert.throws(
      () => aesGcm(key(1)).open(sealed.subarray(0, length), place),
      length < 12 ? /shorter than the required size$/ : failed,
    );
});

test('AES-CBC opens its own value, and tells what is no value of it', () => {
  const cipher = aesCbc(key(1));
  const sealed = cipher.seal(value, place);
  assert.deepEqual(cipher.open(sealed, place), value);
  assert.throws(() => cipher.open(sealed.subarray(0, 15), place), /shorter than the required size/);
  assert.throws(() => cipher.open(sealed.subarray(0, 16), place), /invalid PKCS7 data/);
  // The last byte of all says how many there are of it.
  const lastByte = (byte: number, others: number): Buffer => {
    const inner = createCipheriv('aes-256-cbc', key(1), Buffer.alloc(16)).setAutoPadding(false);
    const plain = Buffer.alloc(16, others).fill(byte, 15);
    return Buffer.concat([Buffer.alloc(16), inner.update(plain), inner.final()]);
  };
  for (const byte of [0, 17])
    assert.throws(
      () => cipher.open(lastByte(byte, 0), place),
      /^Error: invalid PKCS7 data \(empty or not padded\)$/,
    );
  assert.throws(() => cipher.open(lastByte(2, 0), place), /^Error: invalid padding on input$/);
  assert.deepEqual(cipher.open(lastByte(16, 16), place), Buffer.alloc(0));
  assert.throws(() => cipher.open(sealed.subarray(0, 33), place), /not a multiple of the block size/);
});

test("a seed's values have keys of their own, by HKDF's expansion, behind what makes them", () => {
  const [ikm, salt] = [Buffer.alloc(20, 5), Buffer.alloc(16, 6)];
  const seed = createHmac('sha256', salt).update(ikm).digest();
  const sealed = seededAesGcm(seed).seal(value, place);
  const info = sealed.subarray(0, 32);
  const own = Buffer.from(hkdfSync('sha256', ikm, salt, info, 32));
  assert.deepEqual(aesGcm(own).open(sealed.subarray(32), place), value);
  assert.deepEqual(seededAesGcm(seed).open(sealed, place), value);
  assert.throws(
    () => seededAesGcm(seed).open(sealed, '/registry/secrets/default/b'),
    /authentication failed/,
  );
  assert.throws(
    () => seededAesGcm(seed).open(sealed.subarray(0, 31), place),
    /shorter than the required size/,
  );
  assert.throws(() => seededAesGcm(Buffer.alloc(31)), /invalid seed length 31 used for key generation/);
  assert.throws(() => wholeAesGcm(Buffer.alloc(31)), /crypto\/aes: invalid key size 31/);
});
