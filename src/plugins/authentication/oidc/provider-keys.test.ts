// Keys of a provider are asked for once for all who wait, seldom for what is unknown, and not for ever.
import assert from 'node:assert/strict';
import { createPublicKey, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { type ReadJwt, readJwt, signJwt } from '../../../crypto/jwt.ts';
import { generatePrivateKey } from '../../../crypto/keys.ts';
import { ProviderKeys } from './provider-keys.ts';

const issuer = 'https://id.example';
const tokenBy = (key: KeyObject): ReadJwt => readJwt(signJwt(key, { iss: issuer })) as ReadJwt;

function provider(clock: FakeClock) {
  const state = { published: [] as KeyObject[], asked: 0, gate: undefined as Promise<void> | undefined };
  const keys = new ProviderKeys(
    { issuer, discoveryUrl: undefined, ca: undefined },
    async (url) => {
      state.asked++;
      await state.gate;
      return url.endsWith('/keys')
        ? { keys: state.published.map((key) => createPublicKey(key).export({ format: 'jwk' })) }
        : { issuer, jwks_uri: `${issuer}/keys` };
    },
    clock,
  );
  return { state, keys };
}

// signJwt names the key by its digest: the published one has no name, so that a token's must be its own.
const named = (token: ReadJwt): ReadJwt => ({ ...token, header: { alg: token.header.alg } });

test('all who come while keys are looked for wait for one answer', async () => {
  const { state, keys } = provider(new FakeClock());
  const key = generatePrivateKey();
  state.published = [key];
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const waiting = Array.from({ length: 50 }, () => keys.haveSigned(named(tokenBy(key))));
  gate.resolve();
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([true]));
  assert.equal(state.asked, 2, 'the document and the keys, once');
});

test('unknown keys are asked for every five seconds at most, and a rotated one is found', async () => {
  const clock = new FakeClock();
  const { state, keys } = provider(clock);
  const [old, young] = [generatePrivateKey(), generatePrivateKey()];
  state.published = [old];
  assert.equal(await keys.haveSigned(named(tokenBy(old))), true);
  state.published = [young];
  for (let i = 0; i < 100; i++) assert.equal(await keys.haveSigned(named(tokenBy(young))), false);
  assert.equal(state.asked, 2);
  clock.advance(5_000);
  assert.equal(await keys.haveSigned(named(tokenBy(young))), true);
  assert.equal(await keys.haveSigned(named(tokenBy(old))), false, 'it was taken back');
});

test('a key that was taken back is forgotten in time, though nobody asks for a new one', async () => {
  const clock = new FakeClock();
  const { state, keys } = provider(clock);
  const key = generatePrivateKey();
  state.published = [key];
  assert.equal(await keys.haveSigned(named(tokenBy(key))), true);
  state.published = [];
  clock.advance(10 * 60_000 + 1);
  assert.equal(await keys.haveSigned(named(tokenBy(key))), true, 'whoever comes first does not wait');
  while (state.asked < 4) await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.equal(await keys.haveSigned(named(tokenBy(key))), false);
});
