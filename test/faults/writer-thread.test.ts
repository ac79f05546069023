// The store's writer thread ends while nobody writes: the server says so at once, so that its process ends and comes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { scratchDirectory } from '../harness/scratch.ts';

test('a server whose writer thread has ended is broken at once, and not ready', async (t) => {
  const opened = new AsyncDisposableStack();
  t.after(() => opened.disposeAsync());
  const scratch = scratchDirectory('writer-thread');
  opened.defer(() => scratch.remove());
  const server = await startServer({
    dataDir: scratch.path,
    securePort: 0,
    bindAddress: '127.0.0.1',
    log: silentLogger,
    workerUrls: {
      storage: new URL('../../src/storage/testing/ending-writer.ts', import.meta.url),
      yaml: new URL('../../src/component-base/yaml-worker.ts', import.meta.url),
    },
  });
  // The store can't be closed in order any more.
  opened.defer(() => server.stop().catch(() => undefined));
  await server.ready;
  const client = server.controlPlane.clientFor(administrator);
  const created = client.create(configmaps, { metadata: { name: 'throw', namespace: 'default' } });
  // Whether it is still acknowledged is the machine's.
  await created.catch(() => undefined);
  assert.match(String(await server.broken), /opened anew: .*JS heap out of memory$/);
  const ready = await server.controlPlane.handle({
    method: 'GET',
    url: '/readyz',
    headers: {},
    readBody: async () => Buffer.alloc(0),
    signal: new AbortController().signal,
    remoteAddress: '192.0.2.7',
    user: administrator,
  });
  assert.equal(ready.status, 500);
});
