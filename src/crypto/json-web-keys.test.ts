// Which keys of somebody else's set are believed in: those that cost what keys usually cost.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { readKeySet } from './json-web-keys.ts';

test('keys that are far too small, far too large or have an exponent of a thousand bits are left out', () => {
  const usual = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const modulus = (bits: number): string => Buffer.alloc(bits / 8, 0xfb).toString('base64url');
  const wrong = [
    { ...usual, n: modulus(512) },
    { ...usual, n: modulus(8200) },
    { ...usual, n: modulus(65_536) },
    { ...usual, e: Buffer.alloc(128, 0xff).toString('base64url') },
    { ...usual, e: Buffer.from([1, 0, 0, 0, 1]).toString('base64url') },
    { ...usual, n: '' },
    { ...usual, use: 'enc' },
    { kty: 'oct', k: 'c2VjcmV0' },
  ];
  const found = readKeySet({ keys: [...wrong, { ...usual, kid: 'good' }, { ...usual, n: modulus(8192) }] });
  assert.deepEqual(
    found?.map(({ kid, key }) => [kid, key.asymmetricKeyDetails?.modulusLength]),
    [
      ['good', 2048],
      [undefined, 8192],
    ],
  );
});
