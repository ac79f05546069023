// Objects whose bytes are no JSON, although their checksums are right: they are named and left out, and all else works.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { clusterrolebindings, clusterroles, configmaps } from '../../src/api/generated/resources.ts';
import type { ClusterRole, ClusterRoleBinding } from '../../src/api/generated/types/rbac-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { UserInfo } from '../../src/apiserver/authentication/authenticator.ts';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
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

/** As upstream: by an option that may be nothing else's companion, of who has a verb of its own, for what can't be read. */
async function deleteUnreadable({ controlPlane }: RunningServer): Promise<void> {
  const option = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
  const tell = async (name: string, options: object, user: UserInfo): Promise<[number, string]> => {
    const transport = inProcessTransport(controlPlane.handle, user);
    const { status, body } = await transport.request({
      method: 'DELETE',
      path: `/api/v1/namespaces/default/configmaps/${name}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options })),
    });
    return [status, (await readAll(body, 10_000)).toString()];
  };
  const admin = controlPlane.clientFor(administrator);
  await admin.create(clusterroles, {
    metadata: { name: 'deletes' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] }],
  } as ClusterRole);
  await admin.create(clusterrolebindings, {
    metadata: { name: 'deletes' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'deletes' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  } as ClusterRoleBinding);
  const jane = { name: 'jane', uid: '', groups: ['system:authenticated'], extra: {} };
  const [denied, why] = await tell('bad', option, jane);
  assert.equal(denied, 403, why);
  assert.match(
    why,
    /configmaps \\"bad\\" is forbidden: not permitted to do \\"unsafe-delete-ignore-read-errors\\", reason: /,
  );
  const [readable, text] = await tell('good', option, administrator);
  assert.equal(readable, 422);
  assert.match(
    text,
    /configmaps \\"good\\" is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: is exclusively used to delete corrupt object\(s\), try again by removing this option/,
  );
  const [together, both] = await tell('bad', { ...option, gracePeriodSeconds: 0 }, administrator);
  assert.equal(together, 422);
  assert.match(both, /Invalid value: true: cannot be set together with \.gracePeriodSeconds/);
  const [unread, error] = await tell('bad', {}, administrator);
  assert.equal(unread, 500);
  assert.match(
    error,
    /Internal error occurred: StorageError: corrupt object, Code: 7, Key: .*\/configmaps\/default\/bad/,
  );
  const [done, answer] = await tell('bad', option, administrator);
  assert.deepEqual(
    [done, JSON.parse(answer)],
    [
      200,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'bad', kind: 'ConfigMap' },
        code: 200,
      },
    ],
  );
  await admin.create(configmaps, { metadata: { name: 'bad', namespace: 'default' }, data: { is: 'good' } });
}

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
    const corrupt = (error: unknown): boolean =>
      isStatusError(error, 'InternalError') &&
      error.code === 500 &&
      /^Internal error occurred: StorageError: corrupt object, .*: object not decodable revision=\d+: /.test(
        error.message,
      );
    await assert.rejects(client.get(configmaps, bad), corrupt);
    await assert.rejects(client.update(configmaps, { metadata: bad }), corrupt);
    const missing = { name: 'missing', namespace: 'default' };
    await assert.rejects(client.get(configmaps, missing), (error) => isStatusError(error, 'NotFound'));
    await assert.rejects(client.create(configmaps, { metadata: bad }), (error) =>
      isStatusError(error, 'AlreadyExists'),
    );
    await deleteUnreadable(server);
  } finally {
    await server.stop();
  }
  // What was deleted is gone for good, from history too.
  named.length = 0;
  const again = await start();
  try {
    assert.deepEqual(named.sort(), keys.filter((key) => !key.includes('configmaps')).sort());
    const client = again.controlPlane.clientFor(administrator);
    assert.equal((await client.get(configmaps, { name: 'bad', namespace: 'default' })).data?.['is'], 'good');
  } finally {
    await again.stop();
  }
  context.diagnostic(`${keys.length} unreadable objects`);
});
