// Watches on a real server over memory storage: where they begin, what they send, how they end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PullBody } from '../../src/apiserver/http.ts';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

interface Frame {
  readonly type: string;
  readonly object: { readonly metadata: Record<string, unknown>; readonly [key: string]: unknown };
}

class Watch {
  readonly #body: PullBody;
  #frames: Frame[] = [];
  constructor(body: PullBody) {
    this.#body = body;
  }
  /** The next frame; undefined at the end. */
  async next(): Promise<Frame | undefined> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      const bytes = this.#body.pull(1 << 20);
      if (bytes === null) return undefined;
      if (bytes === undefined) await new Promise<void>((resolve) => this.#body.onReady(resolve));
      else
        this.#frames = bytes
          .toString()
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Frame);
    }
  }
  async brief(): Promise<string> {
    const frame = await this.next();
    return frame ? `${frame.type} ${String(frame.object.metadata?.['name'] ?? '')}` : 'end';
  }
  close(): void {
    this.#body.close();
  }
}

const path = (ns: string): string => `/api/v1/namespaces/${ns}/configmaps`;
async function watch(ns: string, query: string, accept = ''): Promise<Watch> {
  const response = await server.handle('GET', `${path(ns)}?watch=true&${query}`, undefined, {
    headers: accept === '' ? {} : { accept },
  });
  assert.equal(response.status, 200);
  return new Watch(response.body as PullBody);
}
const put = (ns: string, name: string, labels: Record<string, string> = {}) =>
  server.request('PUT', `${path(ns)}/${name}`, { metadata: { name, labels } });
const create = (ns: string, name: string, labels: Record<string, string> = {}) =>
  server.request('POST', path(ns), { metadata: { name, labels } });
const revisionOf = (answer: { json(): Record<string, unknown> }): string =>
  String((answer.json()['metadata'] as Record<string, unknown>)['resourceVersion']);

test('a watch from a revision sends what came after it, of its namespace only', async () => {
  const from = revisionOf(await create('w', 'a'));
  await create('other', 'x');
  await create('w', 'b');
  await server.request('DELETE', `${path('w')}/a`);
  const w = await watch('w', `resourceVersion=${from}`);
  assert.equal(await w.brief(), 'ADDED b');
  assert.equal(await w.brief(), 'DELETED a');
  const later = w.brief();
  await create('w', 'c');
  assert.equal(await later, 'ADDED c');
  w.close();
});

test('a watch without a revision begins with the objects that are there', async () => {
  await create('i', 'a');
  for (const query of ['', 'resourceVersion=0']) {
    const w = await watch('i', query);
    assert.equal(await w.brief(), 'ADDED a');
    w.close();
  }
});

test('initial events end with a bookmark that says so', async () => {
  await create('b', 'a');
  const w = await watch(
    'b',
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  );
  assert.equal(await w.brief(), 'ADDED a');
  const bookmark = await w.next();
  assert.equal(bookmark?.type, 'BOOKMARK');
  assert.deepEqual(bookmark?.object.metadata['annotations'], { 'k8s.io/initial-events-end': 'true' });
  w.close();
  const refused = await server.request('GET', `${path('b')}?watch=true&sendInitialEvents=true`);
  assert.equal(refused.status, 422);
});

test('objects that begin or cease to match come as ADDED and DELETED', async () => {
  const from = revisionOf(await create('s', 'a'));
  const w = await watch('s', `resourceVersion=${from}&labelSelector=x%3D1`);
  await put('s', 'a', { x: '1' });
  await put('s', 'a', { x: '1', y: '2' });
  const last = revisionOf(await put('s', 'a', { y: '2' }));
  assert.equal(await w.brief(), 'ADDED a');
  assert.equal(await w.brief(), 'MODIFIED a');
  const gone = await w.next();
  assert.equal(gone?.type, 'DELETED');
  assert.deepEqual(gone?.object.metadata['labels'], { x: '1', y: '2' });
  assert.equal(gone?.object.metadata['resourceVersion'], last);
  w.close();
});

test('a revision that is forgotten is answered with an ERROR event', async () => {
  for (let i = 0; i < 3; i++) await create('old', `a${i}`);
  await server.storage.compact(await server.storage.revision());
  const fresh = await startTestServer({ storage: server.storage });
  const response = await fresh.handle('GET', `${path('old')}?watch=true&resourceVersion=2`);
  const frame = await new Watch(response.body as PullBody).next();
  assert.equal(frame?.type, 'ERROR');
  assert.equal(frame?.object['code'], 410);
  assert.equal(frame?.object['reason'], 'Expired');
  assert.match(String(frame?.object['message']), /^too old resource version: 2 \(\d+\)$/);
});

test('a watch ends after its timeout', async () => {
  const w = await watch('e', 'timeoutSeconds=1');
  assert.equal(await w.next(), undefined);
});

test('tables are watched with columns in the first event only', async () => {
  await create('t', 'a');
  await create('t', 'b');
  const w = await watch('t', '', 'application/json;as=Table;v=v1;g=meta.k8s.io');
  const first = await w.next();
  const second = await w.next();
  assert.equal(first?.object['kind'], 'Table');
  assert.ok((first!.object['columnDefinitions'] as unknown[]).length > 0);
  assert.equal(second!.object['columnDefinitions'], null);
  w.close();
});
