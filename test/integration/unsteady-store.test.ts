// API servers over a store that others write, too, that answers late and that breaks off: no stale answer passes for a fresh one.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { PullBody } from '../../src/apiserver/http.ts';
import {
  startTestServer,
  type TestAnswer,
  type TestServer,
} from '../../src/apiserver/testing/test-server.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { FailingStorage } from '../../src/storage/testing/failing-storage.ts';
import { LaggingStorage } from '../../src/storage/testing/lagging-storage.ts';

const path = '/api/v1/namespaces/default/configmaps';
const mergePatch = { headers: { 'content-type': 'application/merge-patch+json' } };

async function start(t: TestContext, storage: Storage): Promise<TestServer> {
  const server = await startTestServer({ storage });
  t.after(() => server.close());
  return server;
}

const create = (server: TestServer, name: string): Promise<TestAnswer> =>
  server.request('POST', path, { metadata: { name } });
const namesOf = (list: TestAnswer): string[] =>
  (list.json()['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
const revisionOf = (answer: TestAnswer): string =>
  (answer.json()['metadata'] as { resourceVersion: string }).resourceVersion;

test('what one server acknowledged, the other shows, changes and deletes at once', async (t) => {
  const store = new MemoryStorage(systemClock);
  const [a, b] = [await start(t, new LaggingStorage(store)), await start(t, new LaggingStorage(store))];
  for (let i = 0; i < 10; i++) {
    const [here, there] = i % 2 === 0 ? [a, b] : [b, a];
    const made = await create(here, `c${i}`);
    assert.equal(made.status, 201);
    assert.equal((await there.request('GET', `${path}/c${i}`)).text, made.text);
    assert.ok(namesOf(await here.request('GET', path)).includes(`c${i}`));
    // An update by the revision that another server gave out is no conflict.
    const body = { ...made.json(), data: { i: String(i) } };
    const changed = await there.request('PUT', `${path}/c${i}`, body);
    assert.equal(changed.status, 200, changed.text);
    const stale = await here.request('PUT', `${path}/c${i}`, body);
    assert.equal(stale.status, 409, stale.text);
    const exact = `${path}?resourceVersion=${revisionOf(changed)}&resourceVersionMatch=NotOlderThan`;
    assert.ok((await here.request('GET', exact)).text.includes(`"i":"${i}"`));
    assert.equal((await here.request('DELETE', `${path}/c${i}`)).status, 200);
    assert.equal((await there.request('GET', `${path}/c${i}`)).status, 404);
    assert.equal((await there.request('DELETE', `${path}/c${i}`)).status, 404);
  }
});

test('patches that both servers take for one object at once are all in it', async (t) => {
  const store = new MemoryStorage(systemClock);
  const servers = [await start(t, new LaggingStorage(store)), await start(t, new LaggingStorage(store))];
  await create(servers[0]!, 'shared');
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
  const answers = await Promise.all(
    keys.map((key, i) =>
      servers[i % 2]!.request('PATCH', `${path}/shared`, { data: { [key]: 'x' } }, mergePatch),
    ),
  );
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  for (const server of servers) {
    const { data } = (await server.request('GET', `${path}/shared`)).json();
    assert.deepEqual(Object.keys(data as object).sort(), keys.sort());
  }
});

test('while its store is away a server says so, and afterwards tells watchers what it can not tell', async (t) => {
  const store = new MemoryStorage(systemClock);
  const away = new FailingStorage(store);
  const [server, other] = [await start(t, away), await start(t, store)];
  const made = await create(server, 'before');
  const from = revisionOf(made);
  const { body } = await server.handle('GET', `${path}?watch=true&resourceVersion=${from}`);
  const watch = body as PullBody;
  assert.equal(watch.pull(1 << 20), undefined, 'nothing has happened');

  away.goAway();
  for (const url of [`${path}/before`, path, `${path}?watch=true`]) {
    const answer = await server.handle('GET', url);
    assert.equal(answer.status, 504, url);
  }
  const timeout = 'Timeout: request did not complete within requested timeout - context deadline exceeded';
  const refused = await create(server, 'during');
  assert.deepEqual([refused.status, refused.json()['message']], [504, timeout]);
  const patched = await server.request('PATCH', `${path}/before`, { data: { a: '1' } }, mergePatch);
  assert.equal(patched.status, 504);
  // Whoever takes what is there gets it.
  assert.equal((await server.request('GET', `${path}/before?resourceVersion=0`)).text, made.text);

  await create(other, 'during');
  await other.request('DELETE', `${path}/before`);
  await store.compact(await store.revision());
  away.comeBack();
  const ready = Promise.withResolvers<void>();
  watch.onReady(ready.resolve);
  await ready.promise;
  const frame = JSON.parse(String(watch.pull(1 << 20))) as { type: string; object: { code: number } };
  assert.deepEqual([frame.type, frame.object.code], ['ERROR', 410]);
  assert.equal(watch.pull(1 << 20), null);
  assert.deepEqual(namesOf(await server.request('GET', path)), ['during']);
  assert.equal((await create(server, 'after')).status, 201);
});

test('a write whose answer was lost is tried again, and then refused if it had been stored', async (t) => {
  const store = new FailingStorage(new MemoryStorage(systemClock));
  const server = await start(t, store);
  for (const [of, again] of [
    ['stored', 409],
    ['not stored', 201],
  ] as const) {
    const name = of.replace(' ', '-');
    store.loseAnswer(of);
    assert.equal((await create(server, name)).status, 504);
    assert.equal((await create(server, name)).status, again);
    assert.equal((await server.request('GET', `${path}/${name}`)).status, 200);
  }
});

test('a change whose answer was lost is not made a second time', async (t) => {
  const store = new FailingStorage(new MemoryStorage(systemClock));
  const server = await start(t, store);
  await server.request('POST', path, { metadata: { name: 'a', finalizers: ['x.dev/first'] } });
  const longer = [{ op: 'add', path: '/metadata/finalizers/-', value: 'x.dev/more' }];
  const jsonPatch = { headers: { 'content-type': 'application/json-patch+json' } };
  store.loseAnswer('stored');
  const lost = await server.request('PATCH', `${path}/a`, longer, jsonPatch);
  assert.equal(lost.status, 504, lost.text);
  const { metadata } = (await server.request('GET', `${path}/a`)).json();
  assert.deepEqual((metadata as { finalizers: string[] }).finalizers, ['x.dev/first', 'x.dev/more']);
  // A second one would say that there is none.
  await server.request('PATCH', `${path}/a`, { metadata: { finalizers: null } }, mergePatch);
  store.loseAnswer('stored');
  assert.equal((await server.request('DELETE', `${path}/a`)).status, 504);
});
