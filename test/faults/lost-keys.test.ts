// The key of what the server itself reads is gone: nothing is taken for missing, what guards others stays shut, and it can be taken away or comes back with its key.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { nextStepAfter } from '../../src/cmd/next-step.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** Servers on one store, with the n-th key for this resource. */
function keeper(t: TestContext, resource: string): (n: number) => Promise<RunningServer> {
  const scratch = scratchDirectory('lost-keys');
  t.after(() => scratch.remove());
  const encryptionProviderConfig = join(scratch.path, 'encryption.yaml');
  return (n) => {
    const secret = Buffer.alloc(32, n).toString('base64');
    writeFileSync(
      encryptionProviderConfig,
      `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [${resource}], providers: [{aesgcm: {keys: [{name: k, secret: "${secret}"}]}}, {identity: {}}]}]}`,
    );
    return startServer({
      dataDir: join(scratch.path, 'data'),
      securePort: 0,
      bindAddress: '127.0.0.1',
      log: silentLogger,
      encryptionProviderConfig,
    });
  };
}

async function ask(
  server: RunningServer,
  method: string,
  path: string,
  sent?: object,
): Promise<readonly [number, string]> {
  const { status, body } = await inProcessTransport(server.controlPlane.handle, administrator).request({
    method,
    path,
    headers: { 'content-type': 'application/json' },
    ...(sent === undefined ? {} : { body: Buffer.from(JSON.stringify(sent)) }),
  });
  const { message = '' } = JSON.parse((await readAll(body, 1_000_000)).toString()) as { message?: string };
  return [status, message];
}

const create = (server: RunningServer, name: string): Promise<readonly [number, string]> =>
  ask(server, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name } });

const admissionregistration = '/apis/admissionregistration.k8s.io/v1';
const guards: readonly (readonly [string, string, object])[] = [
  [
    'validatingadmissionpolicies.admissionregistration.k8s.io',
    `${admissionregistration}/validatingadmissionpolicies`,
    {
      matchConstraints: {
        resourceRules: [
          { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['configmaps'] },
        ],
      },
      validations: [{ expression: 'true' }],
    },
  ],
  ['resourcequotas', '/api/v1/namespaces/default/resourcequotas', { hard: { configmaps: '10' } }],
];

for (const [resource, path, spec] of guards)
  test(`${resource} that nobody can open let nothing pass, until they are taken away`, async (t) => {
    const start = keeper(t, resource);
    let server = await start(1);
    assert.equal((await ask(server, 'POST', path, { metadata: { name: 'guard' }, spec }))[0], 201);
    assert.equal((await create(server, 'before'))[0], 201);
    await server.stop();
    server = await start(2);
    t.after(() => server.stop());
    const [status, message] = await create(server, 'shut');
    assert.equal(status, 500);
    assert.match(message, /^Internal error occurred: unable to transform key ".*\/guard": /);
    const unsafe = `${path}/guard?ignoreStoreReadErrorWithClusterBreakingPotential=true`;
    assert.equal((await ask(server, 'DELETE', unsafe))[0], 200);
    assert.equal((await create(server, 'after'))[0], 201);
  });

test('a namespace that nobody can open is not said to be missing, and is there again with its key', async (t) => {
  const start = keeper(t, 'namespaces');
  let server = await start(1);
  assert.equal((await create(server, 'before'))[0], 201);
  await server.stop();
  server = await start(2);
  assert.deepEqual(await create(server, 'meanwhile'), [
    500,
    'Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/namespaces/default, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: cipher: message authentication failed',
  ]);
  const [status, message] = await ask(server, 'POST', '/api/v1/namespaces/nowhere/configmaps', {
    metadata: { name: 'a' },
  });
  assert.deepEqual([status, message], [404, 'namespaces "nowhere" not found']);
  await server.stop();
  server = await start(1);
  t.after(() => server.stop());
  assert.equal((await ask(server, 'GET', '/api/v1/namespaces/default/configmaps/before'))[0], 200);
  assert.equal((await create(server, 'after'))[0], 201);
});

test('a server whose definitions nobody can open does not begin without them, and says what to do', async (t) => {
  const start = keeper(t, 'customresourcedefinitions.apiextensions.k8s.io');
  const first = await start(1);
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const [status] = await ask(first, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  assert.equal(status, 201);
  await first.stop();
  await assert.rejects(start(2), (error: Error) => {
    assert.match(error.message, /unable to transform key ".*\/widgets\.example\.com"/);
    assert.match(nextStepAfter(error) ?? '', /^put the key .* among the providers of --encryption-provider/);
    return true;
  });
  const again = await start(1);
  t.after(() => again.stop());
  const custom = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com';
  assert.equal((await ask(again, 'GET', custom))[0], 200);
});
