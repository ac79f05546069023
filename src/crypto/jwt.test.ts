// Tokens verify with the right key only, and every way of weakening one is refused.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { jwks, keyId, signJwt, unverifiedClaims, verificationKey, verifyJwt } from './jwt.ts';
import { generatePrivateKey, publicKeyToPem } from './keys.ts';

const key = generatePrivateKey();
const keys = [verificationKey(key)];
const now = 1_800_000_000_000;
const claims = { iss: 'https://kubernetes.default.svc', sub: 'x', exp: now / 1000 + 60, nbf: now / 1000 };
const token = signJwt(key, claims);
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a signed token gives its claims back, by ES256 and RS256', () => {
  assert.deepEqual(verifyJwt(token, keys, now), { claims });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  assert.deepEqual(verifyJwt(signJwt(rsa, claims), [verificationKey(rsa)], now), { claims });
});

test('a key of another curve signs by its own algorithm, which the key set names; others are refused', () => {
  const named = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };
  for (const [namedCurve, alg] of Object.entries(named)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve });
    const text = signJwt(privateKey, claims);
    const [head = ''] = text.split('.');
    assert.equal((JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string }).alg, alg);
    const own = verificationKey(privateKey);
    assert.deepEqual(verifyJwt(text, [own], now), { claims });
    assert.deepEqual(
      (jwks([own]).keys as { alg: string; crv: string }[]).map((k) => [k.alg, k.crv]),
      [[alg, namedCurve]],
    );
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  assert.throws(
    () => verificationKey(privateKey),
    /^Error: unknown private key curve, must be 256, 384, or 521$/,
  );
  const ed = generateKeyPairSync('ed25519').privateKey;
  assert.throws(() => signJwt(ed, claims), /unknown private key type ed25519/);
});

const refused = (text: string, at = now): string => {
  const result = verifyJwt(text, keys, at);
  return 'refused' in result ? result.refused : 'accepted';
};

test('an unsigned token is refused, whatever it calls its algorithm', () => {
  for (const alg of ['none', 'None', 'HS256', '', undefined]) {
    const text = `${part({ alg, kid: keyId(key) })}.${part(claims)}.`;
    assert.notEqual(refused(text), 'accepted');
    assert.notEqual(refused(`${text}AAAA`), 'accepted');
  }
});

test('the public key is no secret: a token keyed with it by HMAC is refused', () => {
  const input = `${part({ alg: 'HS256', kid: keyId(key) })}.${part(claims)}`;
  const mac = createHmac('sha256', publicKeyToPem(key)).update(input).digest('base64url');
  assert.equal(refused(`${input}.${mac}`), 'no key fits the algorithm and key id of the token');
});

test('a token of another key, or changed after signing, is refused', () => {
  const [head, , mac] = token.split('.');
  assert.equal(refused(`${head}.${part({ ...claims, sub: 'y' })}.${mac}`), 'the signature is wrong');
  assert.equal(
    refused(signJwt(generatePrivateKey(), claims)),
    'no key fits the algorithm and key id of the token',
  );
});

test('expired tokens, tokens of the future and tokens without an end are refused', () => {
  assert.equal(refused(token, now + 61_000), 'the token has expired');
  assert.equal(refused(token, now - 1000), 'the token is not valid yet');
  assert.equal(refused(signJwt(key, { ...claims, exp: undefined })), 'the token has expired');
  assert.equal(refused(signJwt(key, { ...claims, exp: '9999999999' })), 'the token has expired');
});

test('garbage is refused without an exception', () => {
  for (const text of ['', '.', '..', 'a.b.c', 'a.b.c.d', `${token}.x`, '\0', 'ü.ü.ü', 'A'.repeat(1 << 20)]) {
    assert.notEqual(refused(text), 'accepted');
    assert.doesNotThrow(() => unverifiedClaims(text));
  }
});

test('the key set names each public key and holds no private part', () => {
  const text = JSON.stringify(jwks(keys));
  assert.match(text, new RegExp(`"kid":"${keyId(key)}","alg":"ES256"`));
  assert.doesNotMatch(text, /"d":/);
});

test('S (low): a token has one spelling: the unused bits of its last letter are not free', () => {
  const key = generatePrivateKey();
  const keys = [verificationKey(key)];
  const token = signJwt(key, { exp: 2_000_000_000 });
  const accepted = (text: string): boolean => 'claims' in verifyJwt(text, keys, 1_900_000_000_000);
  assert.equal(accepted(token), true);
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const others = [...letters].map((letter) => token.slice(0, -1) + letter).filter((other) => other !== token);
  assert.deepEqual(others.filter(accepted), []);
  assert.equal(accepted(`${token}=`), false);
  const [head = '', body = '', mac = ''] = token.split('.');
  assert.equal(accepted(`${head}=.${body}.${mac}`), false);
});
