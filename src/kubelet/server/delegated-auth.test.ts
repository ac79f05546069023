// What the API server said of a token or a right is believed for as long as upstream's kubelet believes it, and no longer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubjectAccessReview } from '../../api/generated/types/authorization-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { Client } from '../../client/client.ts';
import { silentLogger } from '../../component-base/logger.ts';
import type { HttpRequest } from '../../wire/http-message.ts';
import { delegatedAuth } from './delegated-auth.ts';
import { requestPath } from './request-attributes.ts';

/** A kubelet whose API server answers so. */
function kubelet(answers: { allowed: boolean; user?: { username?: string } | undefined }) {
  const clock = new FakeClock();
  const asked = { rights: 0, tokens: 0 };
  const create = async ({ resource }: { resource: string }, object: unknown): Promise<unknown> => {
    if (resource === 'tokenreviews') {
      asked.tokens += 1;
      return { status: { authenticated: true, user: answers.user } };
    }
    asked.rights += 1;
    return { ...(object as SubjectAccessReview), status: { allowed: answers.allowed } };
  };
  const client = { create } as unknown as Client;
  const authorize = delegatedAuth({ client, clock, nodeName: 'n', log: silentLogger });
  const ask = async (request: object): Promise<number> =>
    (await authorize({ method: 'GET', headers: {}, ...request } as HttpRequest, requestPath('/pods/')!))
      ?.status ?? 200;
  return {
    clock,
    asked,
    byToken: (token: string) => ask({ headers: { authorization: `Bearer ${token}` } }),
    byName: (CN: string | undefined) => ask({ clientCertificate: { subject: { CN, O: [] } } }),
  };
}

test('a right that was taken away ends after five minutes, one that was given begins after half a minute', async () => {
  const answers = { allowed: true };
  const { clock, asked, byName } = kubelet(answers);
  assert.equal(await byName('a'), 200);
  answers.allowed = false;
  clock.advance(299_999);
  assert.equal(await byName('a'), 200);
  assert.equal(asked.rights, 1);
  clock.advance(1);
  assert.equal(await byName('a'), 403);
  const before = asked.rights;
  answers.allowed = true;
  clock.advance(29_999);
  assert.equal(await byName('a'), 403);
  assert.equal(asked.rights, before);
  clock.advance(1);
  assert.equal(await byName('a'), 200);
});

test('a token is asked about again after two minutes; one of nobody is none', async () => {
  const answers: Parameters<typeof kubelet>[0] = { allowed: true, user: { username: 'a' } };
  const { clock, asked, byToken } = kubelet(answers);
  assert.equal(await byToken('t'), 200);
  for (const user of [{ username: '' }, {}, undefined]) {
    answers.user = { username: 'a' };
    clock.advance(120_000);
    assert.equal(await byToken('t'), 200);
    answers.user = user;
    clock.advance(119_999);
    assert.equal(await byToken('t'), 200);
    clock.advance(1);
    assert.equal(await byToken('t'), 401);
  }
  assert.equal(asked.tokens, 7);
});

test('a certificate without a name is nobody, and what is remembered is bounded', async () => {
  const { asked, byName } = kubelet({ allowed: true });
  assert.deepEqual([await byName(undefined), await byName('')], [401, 401]);
  for (let i = 0; i <= 1000; i++) await byName(`u${i}`);
  assert.equal(asked.rights, 1001);
  await byName('u1000');
  assert.equal(asked.rights, 1001);
  await byName('u0');
  assert.equal(asked.rights, 1002, 'forgotten');
});

test('a clock that is set back makes no right last longer', async () => {
  const answers = { allowed: true, user: { username: 'a' } };
  const { clock, byName, byToken } = kubelet(answers);
  assert.equal(await byName('a'), 200);
  assert.equal(await byToken('t'), 200);
  clock.setBy(-2 * 24 * 3_600_000);
  answers.allowed = false;
  clock.advance(300_000);
  assert.equal(await byName('a'), 403);
  assert.equal(await byToken('t'), 403);
});
