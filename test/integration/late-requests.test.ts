// Requests that have come too late for their client, and large ones that wait for each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestHandler, RestRequest } from '../../src/apiserver/registry/rest-storage.ts';
import { tooLateFor } from '../../src/apiserver/request-context.ts';
import { startTestServer } from '../../src/apiserver/testing/test-server.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { fixedLiveObjects } from '../../src/plugins/testing/fixed-live-objects.ts';
import { podBinding } from '../../src/registry/core/pod-binding.ts';
import { createPodEviction } from '../../src/registry/policy/pod-eviction.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';

test('those who wait to change one large object, whose first asks somebody else, are in the way of no other', {
  timeout: 20_000,
}, async (t) => {
  const answer = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = await startTestServer({
    // On it nobody's patience ends.
    clock: new FakeClock(),
    admission: [
      {
        name: 'Slow',
        operations: ['UPDATE'],
        admit: (request) =>
          request.aside!(() => {
            asked.resolve();
            return answer.promise;
          }),
      },
    ],
  });
  t.after(() => server.close());
  const data = { a: 'x'.repeat(100_000) };
  await server.request('POST', maps, { metadata: { name: 'one' }, data });
  const put = (b: number) =>
    server.request('PUT', `${maps}/one`, { metadata: { name: 'one' }, data: { ...data, b: String(b) } });
  const first = put(0);
  await asked.promise;
  const behind = [1, 2, 3, 4].map(put);
  const other = await server.request('POST', maps, { metadata: { name: 'other' }, data });
  assert.equal(other.status, 201);
  answer.resolve();
  for (const one of [first, ...behind]) assert.equal((await one).status, 200);
});

test('a binding and an eviction that come too late write nothing, though the server writes in their name', async (t) => {
  const server = await startTestServer();
  t.after(() => server.close());
  const spec = { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'default' };
  await server.request('POST', pods, { metadata: { name: 'p' }, spec });
  const before = (await server.request('GET', `${pods}/p`)).text;
  const late = (handler: RestHandler, object: object): Promise<unknown> =>
    Promise.resolve(
      handler.create!({
        context: {
          query: new URLSearchParams(),
          checkTime: () => {
            throw tooLateFor();
          },
        },
        namespace: 'default',
        name: 'p',
        object: { metadata: { name: 'p' }, ...object },
        dryRun: false,
        clock: new FakeClock(),
        store: (group: string, resource: string) => server.api.store(group, 'v1', resource),
      } as unknown as RestRequest),
    );
  await assert.rejects(late(podBinding, { target: { kind: 'Node', name: 'n' } }), { code: 504 });
  await assert.rejects(late(createPodEviction(fixedLiveObjects()), {}), { code: 504 });
  assert.equal((await server.request('GET', `${pods}/p`)).text, before);
});

test('what was let in too late is handed to no other server', async (t) => {
  const allowed = Promise.withResolvers<void>();
  const handed: string[] = [];
  const server = await startTestServer({
    authorizer: {
      authorize: async () => {
        await allowed.promise;
        return { decision: 'allow', reason: '' };
      },
    },
    aggregator: {
      isElsewhere: () => true,
      versions: () => [],
      openApiV2: () => [],
      openApiV3: () => new Map(),
      convertedV3: () => undefined,
      serve: async ({ request }) => {
        handed.push(request.url);
        return { status: 200, headers: {}, body: undefined };
      },
    },
  });
  t.after(() => server.close());
  assert.equal((await server.request('GET', `${maps}/late?timeout=20ms`)).status, 504);
  allowed.resolve();
  assert.equal((await server.request('GET', `${maps}/in-time`)).status, 200);
  assert.deepEqual(handed, [`${maps}/in-time`]);
});
