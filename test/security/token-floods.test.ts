// Tokens that anybody makes up, while whoever could know them does not answer: so many are kept waiting, and no more; known ones go on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { readJwt } from '../../src/crypto/jwt.ts';
import { ProviderKeys } from '../../src/plugins/authentication/oidc/provider-keys.ts';
import { cachedTokens } from '../../src/plugins/authentication/tokens/cached-tokens.ts';
import { tokenCacheMetrics } from '../../src/plugins/authentication/tokens/token-cache-metrics.ts';

/** As long as a token may be in a header. */
const text = 'x'.repeat(60_000);
const flood = Array.from({ length: 2_000 }, (_, i) => i);
/** So many of them wait, and thousands of usual ones. */
const mostWaiting = Math.floor((16 << 20) / (text.length + 1_100));
const isNearly = (count: number, expected: number): boolean => Math.abs(count - expected) <= expected / 50;

test('a token webhook that hangs', async () => {
  let hangs = false;
  const hanging: (() => void)[] = [];
  const tokens = cachedTokens(
    {
      authenticateToken: async (name, audiences) => {
        if (hangs) await new Promise<void>((resolve) => hanging.push(resolve));
        return { user: { name: name.slice(text.length) || name, groups: [] }, audiences };
      },
    },
    { clock: new FakeClock(), ttlMs: () => 60_000, metrics: tokenCacheMetrics(createMetrics()) },
  );
  const ask = async (token: string): Promise<string> => {
    const verdict = await tokens.authenticateToken(token, ['api']);
    return verdict === undefined ? 'nobody' : 'user' in verdict ? verdict.user.name : verdict.refused;
  };
  assert.equal(await ask('known'), 'known');
  hangs = true;
  const answers = flood.map((n) => ask(`${text}${n}`));
  assert.equal(await answers.at(-1), 'too many tokens are asked about');
  assert.ok(isNearly(hanging.length, mostWaiting), `${hanging.length}`);
  assert.equal(await ask('known'), 'known');
  hangs = false;
  for (const answer of hanging) answer();
  const told = await Promise.all(answers);
  assert.equal(told.filter((one) => /^\d+$/.test(one)).length, hanging.length);
  hangs = true;
  const usual = Array.from({ length: 4_000 }, (_, n) => ask(`${'y'.repeat(1_500)}${n}`));
  hangs = false;
  for (const answer of hanging) answer();
  assert.ok((await Promise.all(usual)).every((one) => /\d+$/.test(one)));
});

test('an OpenID provider that hangs', async () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = readJwt(`${part({ alg: 'RS256' })}.${part({ sub: text.slice(0, 45_000) })}.AAAA`);
  assert.ok(!('refused' in token));
  let end = (): void => {};
  const hanging = new Promise<never>((_, reject) => {
    end = () => reject(new Error('context deadline exceeded'));
  });
  const provider = { issuer: 'https://issuer.example.com', discoveryUrl: undefined, ca: undefined };
  const keys = new ProviderKeys(provider, () => hanging, new FakeClock());
  const ask = (): Promise<string> => keys.haveSigned(token).then(String, (error: Error) => error.message);
  const answers = flood.map(ask);
  assert.equal(await answers.at(-1), 'oidc: too many tokens wait for the keys of their provider');
  end();
  const told = await Promise.all(answers);
  const waited = told.filter((one) => one === 'context deadline exceeded').length;
  assert.ok(isNearly(waited, mostWaiting), `${waited}`);
});
