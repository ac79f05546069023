// Secrets moved to a new key by a StorageVersionMigration, by a server that is stopped in the middle and started again.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readApiEnablement } from '../../src/api/api-enablement.ts';
import { secrets, storageversionmigrations } from '../../src/api/generated/resources.ts';
import type { Secret } from '../../src/api/generated/types/core-v1.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import { compareResourceVersions } from '../../src/apimachinery/resource-version.ts';
import { fewAtOnce } from '../../src/base/few-at-once.ts';
import type { Client } from '../../src/client/client.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { controllersComponent } from '../../src/cmd/compose/server-components.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const key = (kind: string, name: string, byte: number): string =>
  `{${kind}: {keys: [{name: ${name}, secret: "${Buffer.alloc(32, byte).toString('base64')}"}]}}`;
const [one, two] = [key('aesgcm', 'one', 1), key('aescbc', 'two', 2)];
const api = readApiEnablement(['StorageVersionMigrator=true'], ['storagemigration.k8s.io/v1beta1=true']);
const count = 300;
const clientOf = (server: RunningServer): Client => server.controlPlane.clientFor(administrator);
const namespace = 'default';

test('a migration that a stop of the server ends is gone on with, until a new key is the only one that is needed', async (t) => {
  const scratch = scratchDirectory('encryption-migration');
  t.after(() => scratch.remove());
  const file = join(scratch.path, 'encryption.yaml');
  const start = async (components: boolean, ...providers: string[]): Promise<RunningServer> => {
    writeFileSync(
      file,
      `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [${providers.join(', ')}]}]}`,
    );
    const server = await startServer({
      dataDir: join(scratch.path, 'data'),
      securePort: 0,
      bindAddress: '127.0.0.1',
      log: silentLogger,
      encryptionProviderConfig: file,
      api,
      components: components
        ? [controllersComponent({ clusterCidrs: ['10.244.0.0/16'], storageVersionMigrator: true })]
        : [],
    });
    await server.ready;
    return server;
  };
  const secretsOf = async (server: RunningServer): Promise<Secret[]> =>
    (await clientOf(server).list(secrets, { namespace })).items;

  let server = await start(false, one);
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  await fewAtOnce(names, 20, (name) =>
    clientOf(server).create(secrets, {
      metadata: { name, namespace },
      data: { value: Buffer.from(`value of ${name}`).toString('base64') },
    } as Secret),
  );
  await server.stop();

  server = await start(true, two, one);
  const moved = (async () => {
    for await (const { type } of clientOf(server).watch(secrets, { namespace }))
      if (type === 'MODIFIED') return;
  })();
  await clientOf(server).create(storageversionmigrations, {
    metadata: { name: 'to-two' },
    spec: { resource: { group: '', resource: 'secrets' } },
  });
  await moved;
  await server.stop();

  server = await start(false, two, one);
  const half = await clientOf(server).get(storageversionmigrations, { name: 'to-two' });
  assert.equal(findCondition(half.status?.conditions, 'Running')?.status, 'True');
  assert.equal(findCondition(half.status?.conditions, 'Succeeded'), undefined);
  const since = half.status?.resourceVersion ?? '';
  const revisions = (list: readonly Secret[]): Map<string, string> =>
    new Map(list.map(({ metadata }) => [metadata.name, metadata.resourceVersion ?? '']));
  const before = revisions(await secretsOf(server));
  const done = [...before.values()].filter((revision) => compareResourceVersions(revision, since) > 0);
  assert.ok(done.length > 0 && done.length < count, `${done.length} of ${count}`);
  await server.stop();

  server = await start(true, two, one);
  await eventually(async () => {
    const { status } = await clientOf(server).get(storageversionmigrations, { name: 'to-two' });
    assert.equal(findCondition(status?.conditions, 'Running')?.status, 'False');
    assert.equal(findCondition(status?.conditions, 'Succeeded')?.status, 'True');
  });
  for (const [name, revision] of revisions(await secretsOf(server))) {
    const was = before.get(name) ?? '';
    const isMoved = compareResourceVersions(was, since) > 0;
    assert.equal(revision === was, isMoved, `${name} is written once: ${was} of ${since}, now ${revision}`);
  }
  await server.stop();

  // Whatever lay under the first key could not be opened now.
  server = await start(false, two);
  for (const { metadata, data } of await secretsOf(server))
    assert.equal(Buffer.from(data?.['value'] ?? '', 'base64').toString(), `value of ${metadata.name}`);
  assert.equal((await secretsOf(server)).length, count);
  await server.stop();
});
