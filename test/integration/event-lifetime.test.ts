// Events end an hour after their last write, as by upstream's --event-ttl; many of them together, and nothing else.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { PullBody } from '../../src/apiserver/http.ts';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { objectLifetimes } from '../../src/controlplane/object-lifetimes.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { createCacheSource } from '../../src/storage/watch/cache-source.ts';

const minute = 60_000;
const path = '/api/v1/namespaces/default/events';
const mergePatch = { headers: { 'content-type': 'application/merge-patch+json' } };

const involvedObject = { kind: 'Pod', name: 'p', namespace: 'default' };
const event = (name: string): object => ({
  metadata: { name },
  involvedObject,
  reason: 'R',
  message: 'm',
  type: 'Normal',
});

class CountedStorage extends MemoryStorage {
  grants = 0;
  override grant(ttlMs: number): Promise<number> {
    this.grants++;
    return super.grant(ttlMs);
  }
}

interface Started {
  readonly server: TestServer;
  readonly clock: FakeClock;
  readonly storage: CountedStorage;
  names(): Promise<string[]>;
}

async function start(t: TestContext, given?: Pick<Started, 'clock' | 'storage'>): Promise<Started> {
  const clock = given?.clock ?? new FakeClock();
  const storage = given?.storage ?? new CountedStorage(clock);
  const caches = await createCacheSource(storage, clock, { lifetimes: objectLifetimes() });
  const server = await startTestServer({ storage, caches, clock });
  t.after(() => server.close());
  return {
    server,
    clock,
    storage,
    async names() {
      const { items } = (await server.request('GET', path)).json();
      return (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    },
  };
}

const is = (status: number, answer: { status: number; text: string }): void =>
  assert.equal(answer.status, status, answer.text);

test('an Event ends after an hour, a write renews it, one that changes nothing does not', async (t) => {
  const { server, clock, names } = await start(t);
  for (const name of ['renewed', 'same', 'left']) is(201, await server.request('POST', path, event(name)));
  const newer = {
    metadata: { name: 'newer' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'R',
    type: 'Normal',
    regarding: involvedObject,
  };
  is(201, await server.request('POST', '/apis/events.k8s.io/v1/namespaces/default/events', newer));
  is(201, await server.request('POST', path.replace('events', 'configmaps'), { metadata: { name: 'c' } }));
  const list = (await server.request('GET', path)).json();
  const { resourceVersion } = list['metadata'] as { resourceVersion: string };
  const response = await server.handle(
    'GET',
    `${path}?watch=true&timeoutSeconds=86400&resourceVersion=${resourceVersion}`,
  );
  const watch = response.body as PullBody;

  clock.advance(59 * minute);
  is(200, await server.request('PATCH', `${path}/renewed`, { count: 2 }, mergePatch));
  is(200, await server.request('PATCH', `${path}/same`, { message: 'm' }, mergePatch));
  assert.deepEqual(await names(), ['left', 'newer', 'renewed', 'same']);
  // As with upstream's leases, which are shared: up to a minute later.
  clock.advance(2 * minute);
  assert.deepEqual(await names(), ['renewed']);
  const told: string[] = [];
  for (let bytes = watch.pull(1 << 20); bytes; bytes = watch.pull(1 << 20))
    for (const line of bytes.toString().trimEnd().split('\n')) {
      const { type, object } = JSON.parse(line) as {
        type: string;
        object: { metadata: { name: string; resourceVersion: string }; reason: string };
      };
      assert.equal(object.reason, 'R', 'the last state is told');
      told.push(`${type} ${object.metadata.name}`);
      if (type === 'DELETED') assert.ok(Number(object.metadata.resourceVersion) > Number(resourceVersion));
    }
  assert.deepEqual(told.sort(), ['DELETED left', 'DELETED newer', 'DELETED same', 'MODIFIED renewed']);
  clock.advance(59 * minute);
  assert.deepEqual(await names(), []);
  is(200, await server.request('GET', path.replace('events', 'configmaps/c')));
});

test('Events that are written together share leases, a thousand each, and so end in few steps', async (t) => {
  const { server, clock, storage, names } = await start(t);
  for (let i = 0; i < 1_500; i++) is(201, await server.request('POST', path, event(`e${i}`)));
  assert.equal(storage.grants, 2);
  clock.advance(minute + 1);
  is(201, await server.request('POST', path, event('later')));
  assert.equal(storage.grants, 3);
  clock.advance(60 * minute);
  assert.deepEqual(await names(), ['later']);
});

test('Events of a store that had no leases get theirs at the next start', async (t) => {
  const clock = new FakeClock();
  const storage = new CountedStorage(clock);
  const before = await startTestServer({ storage, clock });
  for (let i = 0; i < 5; i++) is(201, await before.request('POST', path, event(`e${i}`)));
  assert.equal(storage.grants, 0);
  const { server, names } = await start(t, { clock, storage });
  const given = async (): Promise<boolean> =>
    (await storage.list('/registry/core/events/')).entries.every(({ lease }) => lease !== undefined);
  for (let turn = 0; !(await given()); turn++) {
    assert.ok(turn < 1_000, 'they have none');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const stored = (await server.request('GET', `${path}/e0`)).json();
  assert.equal(stored['reason'], 'R');
  assert.equal(
    (stored['metadata'] as { resourceVersion: string }).resourceVersion,
    String((await storage.get('/registry/core/events/default/e0'))?.revision),
  );
  assert.equal((await names()).length, 5);
  clock.advance(61 * minute);
  assert.deepEqual(await names(), []);
});
