// The client of a controller: what it declared reaches the server, and nothing else does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobs, pods, secrets } from '../api/generated/resources.ts';
import type { Job } from '../api/generated/types/batch-v1.ts';
import type { Client } from '../client/client.ts';
import { type Logger, silentLogger } from '../component-base/logger.ts';
import { type Access, may } from './access.ts';
import { declaredClient } from './declared-access.ts';
import type { ControllerClient } from './define-controller.ts';

function clientWith(access: readonly Access[], namespace?: string) {
  const sent: string[] = [];
  const logged: string[] = [];
  const server = new Proxy({} as Client, {
    get: (_, method) => async () => void sent.push(String(method)),
  });
  const log: Logger = {
    ...silentLogger,
    error: (fields) => void logged.push((fields as { error: Error }).error.message),
  };
  return { client: declaredClient({ name: 'c', access, namespace }, server, log), sent, logged };
}

const key = { name: 'a', namespace: 'n' };
const job: Job = { metadata: key, apiVersion: 'batch/v1', kind: 'Job', spec: { template: {} } };

/** Each way to ask for something, and the declaration that it needs. */
const calls: readonly (readonly [needs: Access, call: (client: ControllerClient) => unknown])[] = [
  [may('get', jobs), (c) => c.get(jobs, key)],
  [may('get', jobs, 'status'), (c) => c.get(jobs, key, { subresource: 'status' })],
  [may('list', jobs), (c) => c.list(jobs, { namespace: 'n' })],
  [may('watch', jobs), (c) => c.watch(jobs, { namespace: 'n' })],
  [may('create', jobs), (c) => c.create(jobs, job)],
  [may('update', jobs), (c) => c.update(jobs, job)],
  [may('update', jobs, 'status'), (c) => c.update(jobs, job, { subresource: 'status' })],
  [may('patch', jobs), (c) => c.patch(jobs, key, { type: 'merge', body: {} })],
  [
    may('patch', jobs, 'status'),
    (c) => c.patch(jobs, key, { type: 'merge', body: {} }, { subresource: 'status' }),
  ],
  [may('delete', jobs), (c) => c.delete(jobs, key)],
  [may('deletecollection', jobs), (c) => c.deleteCollection(jobs, { namespace: 'n' })],
  [may('create', pods, 'eviction'), (c) => c.createSubresource(pods, key, 'eviction', {})],
];

test('each call needs its own declaration, and is refused with those of all others', async () => {
  for (const [needs, call] of calls) {
    const alone = clientWith([needs]);
    await call(alone.client);
    assert.deepEqual([alone.sent.length, alone.logged], [1, []], JSON.stringify(needs));
    const rest = clientWith(calls.map(([other]) => other).filter((other) => other !== needs));
    await assert.rejects(async () => await call(rest.client), { name: 'UndeclaredAccessError' });
    assert.deepEqual([rest.sent.length, rest.logged.length], [0, 1], JSON.stringify(needs));
  }
});

test('a refusal says who asked for what, and is logged for those who go on after it', async () => {
  const { client, logged } = clientWith([may('get', jobs)]);
  await client.get(secrets, key).catch(() => undefined);
  assert.deepEqual(logged, ['c does not declare that it may get /secrets in n']);
});

test('who asks within one namespace asks there alone', async () => {
  const { client, sent } = clientWith([may(['delete', 'list'], secrets)], 'kube-system');
  await client.delete(secrets, { name: 'a', namespace: 'kube-system' });
  await assert.rejects(client.delete(secrets, key), { name: 'UndeclaredAccessError' });
  await assert.rejects(client.list(secrets), { name: 'UndeclaredAccessError' });
  assert.deepEqual(sent, ['delete']);
});

test('there is no call of a path', () => {
  assert.ok(!('raw' in clientWith([]).client));
});
