// ConfigMaps and Secrets of pods: what happens when the server does not give them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Client } from '../client/client.ts';
import { silentLogger } from '../component-base/logger.ts';
import { createObjectCache } from './object-cache.ts';

const refused = (): StatusError =>
  new StatusError(403, 'Forbidden', 'configmaps "kube-root-ca.crt" is forbidden: no relationship found');

const pod = {
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: {
    containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'kube-root-ca.crt' } }] }],
  },
} as unknown as Pod;
const map = (resourceVersion: string) => ({ metadata: { name: 'kube-root-ca.crt', resourceVersion } });
const listed = (...items: object[]) => ({ metadata: { resourceVersion: '9' }, items });

/** A cache over a server that answers lists in this order, and whose history is always gone. */
function cacheOver(t: TestContext, answers: readonly (() => object)[], get: () => object = refused) {
  const clock = new FakeClock();
  const unhandled: unknown[] = [];
  const changed: string[] = [];
  let lists = 0;
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const client = {
    get: async () => get(),
    list: async () => answers[Math.min(lists++, answers.length - 1)]!(),
    async *watch() {
      yield { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };
    },
  } as unknown as Client;
  const random = { uint: () => 0, fraction: () => 0, uuid: () => 'u' };
  const cache = createObjectCache({
    client,
    clock,
    random,
    log: silentLogger,
    changed: (uids) => void changed.push(...uids),
  });
  t.after(() => {
    process.off('unhandledRejection', note);
    cache.stop();
  });
  /** Until this many lists were asked for, and what came of the last. */
  const after = (count: number) =>
    t.waitFor(
      () => {
        clock.advance(60_000);
        assert.ok(lists >= count);
      },
      { timeout: 30_000 },
    );
  return { cache, unhandled, changed, after };
}

const throws = (): never => {
  throw refused();
};

test('a refusal to list an object reaches who asks for it, and nobody else', async (t) => {
  const { cache, unhandled, after } = cacheOver(t, [throws], throws);
  cache.uses(pod);
  await after(2);
  // Node tells of a rejection that nobody handles after the microtasks of this turn.
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, []);
  await assert.rejects(cache.configMap('default', 'kube-root-ca.crt'), /no relationship found/);
});

test('what is known of an object stays known while the server does not give it', async (t) => {
  const { cache, changed, after } = cacheOver(t, [() => listed(map('5')), throws], throws);
  cache.uses(pod);
  await after(3);
  assert.deepEqual(await cache.configMap('default', 'kube-root-ca.crt'), map('5'));
  assert.deepEqual(changed, []);
});

test('a list that differs from what was known is a change of the object, and so is one that is empty', async (t) => {
  const answers = [listed(map('5')), listed(map('5')), listed(map('6')), listed()];
  const { cache, changed, after } = cacheOver(
    t,
    answers.map((answer) => () => answer),
  );
  cache.uses(pod);
  await after(2);
  assert.deepEqual(changed, []);
  await after(5);
  assert.deepEqual(changed, ['u', 'u']);
  assert.equal(await cache.configMap('default', 'kube-root-ca.crt'), undefined);
});

test('who had to read an object past a refused list hears of what the next list says', async (t) => {
  const { cache, changed, after } = cacheOver(t, [throws, () => listed(map('6'))], () => map('5'));
  cache.uses(pod);
  await after(1);
  assert.deepEqual(await cache.configMap('default', 'kube-root-ca.crt'), map('5'));
  await after(3);
  assert.deepEqual(changed, ['u']);
  assert.deepEqual(await cache.configMap('default', 'kube-root-ca.crt'), map('6'));
});

test('who asks for an object that its pod stops using meanwhile is answered all the same', async (t) => {
  const answer = Promise.withResolvers<object>();
  const { cache } = cacheOver(t, [() => answer.promise], () => map('5'));
  cache.uses(pod);
  const asked = cache.configMap('default', 'kube-root-ca.crt');
  cache.forget('u');
  answer.resolve(listed(map('4')));
  assert.deepEqual(await asked, map('5'));
});
