// Objects whose bytes are no JSON, although their checksums are right: they are named and left out, and all else works.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { DurableStore } from '../../src/storage/sqlite/durable-store.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const keys = [
  'core/configmaps/default/bad',
  'core/secrets/default/bad',
  'core/pods/default/bad',
  'core/services/default/bad',
  'core/namespaces/bad',
  'rbac.authorization.k8s.io/clusterroles/bad',
  'apiextensions.k8s.io/customresourcedefinitions/bad',
].map((key) => `/registry/${key}`);

test('an object that is no JSON is named and left out, and the server works', async (context) => {
  const scratch = scratchDirectory('unreadable');
  context.after(() => scratch.remove());
  const named: unknown[] = [];
  const log = {
    ...silentLogger,
    error: (fields: object) => {
      if ('key' in fields) named.push(fields.key);
    },
  };
  const start = (): ReturnType<typeof startServer> =>
    startServer({ dataDir: scratch.path, securePort: 0, bindAddress: '127.0.0.1', log });
  await (await start()).stop();
  const store = new DurableStore(join(scratch.path, 'db'), systemRandom);
  store.start();
  const value = Buffer.from('{"metadata": gar');
  for (const key of keys)
    store.write({
      keys: [key],
      puts: Uint8Array.of(1),
      revisions: Float64Array.of(store.revision() + 1),
      previous: Float64Array.of(0),
      lengths: Uint32Array.of(value.length),
      values: value,
    });
  store.close();

  const server = await start();
  try {
    assert.deepEqual(named.sort(), [...keys].sort());
    const client = server.controlPlane.clientFor(administrator);
    await client.create(configmaps, { metadata: { name: 'good', namespace: 'default' } });
    const { items } = await client.list(configmaps, { namespace: 'default' });
    assert.ok(items.some((item) => item.metadata?.name === 'good'));
    const bad = { name: 'bad', namespace: 'default' };
    await assert.rejects(client.get(configmaps, bad), (error) => isStatusError(error, 'NotFound'));
    await assert.rejects(client.create(configmaps, { metadata: bad }), (error) =>
      isStatusError(error, 'AlreadyExists'),
    );
  } finally {
    await server.stop();
  }
  context.diagnostic(`${keys.length} unreadable objects`);
});
