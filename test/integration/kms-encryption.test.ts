// Secrets sealed by the help of a KMS plugin: in upstream's bytes, through restarts, without the plugin and with it again.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { secrets } from '../../src/api/generated/resources.ts';
import type { Secret } from '../../src/api/generated/types/core-v1.ts';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import {
  readBackup,
  repairStore,
  restoreBackup,
  takeBackup,
  writeBackup,
} from '../../src/cmd/compose/backups.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { kmsPlugin, readKmsMessage } from '../harness/kms-plugin.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const password = 'correct-horse-battery-staple';
const base64 = Buffer.from(password).toString('base64');
const named = { namespace: 'default', name: 's' };
const prefix = 'k8s:enc:kms:v2:vault:';

function bytesBelow(folder: string): string {
  let all = '';
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile()) all += readFileSync(path, 'latin1');
  }
  return all;
}

function keeper() {
  const scratch = scratchDirectory('kms-encryption');
  const plugin = kmsPlugin(join(scratch.path, 'kms.sock'));
  const file = join(scratch.path, 'encryption.yaml');
  const logged: string[] = [];
  const keep = (...all: unknown[]): void =>
    void logged.push(
      all.map((one) => JSON.stringify(one, (_, v) => (v instanceof Error ? v.stack : v))).join(),
    );
  const log = { ...silentLogger, error: keep, warn: keep, info: keep, debug: keep, child: () => log };
  const start = (providers: string, flags: object = {}): Promise<RunningServer> => {
    writeFileSync(
      file,
      `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [${providers}]}]}`,
    );
    return startServer({
      dataDir: join(scratch.path, 'data'),
      securePort: 0,
      bindAddress: '127.0.0.1',
      log,
      encryptionProviderConfig: file,
      ...flags,
    });
  };
  const kms = `{kms: {apiVersion: v2, name: vault, endpoint: "${plugin.endpoint}", timeout: 1s}}`;
  const stored = (): string => bytesBelow(join(scratch.path, 'data', 'db'));
  return { scratch, plugin, start, kms, stored, logged };
}

async function ask(
  server: RunningServer,
  path: string,
  more: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: Buffer } = {},
): Promise<readonly [number, string]> {
  const { status, body } = await inProcessTransport(server.controlPlane.handle, administrator).request({
    method: 'GET',
    path,
    headers: {},
    ...more,
  });
  return [status, (await readAll(body, 50_000_000)).toString('latin1')];
}
const clientOf = (server: RunningServer) => server.controlPlane.clientFor(administrator);
const shown = async (server: RunningServer): Promise<string | undefined> =>
  (await clientOf(server).get<Secret>(secrets, named)).data?.['password'];
const create = (server: RunningServer): Promise<unknown> =>
  clientOf(server).create(secrets, { metadata: named, data: { password: base64 } } as unknown as Secret);

test('a Secret lies beside a key that only the plugin opens, and is read again after a restart; nothing of it is told', async (t) => {
  const { scratch, plugin, start, kms, stored, logged } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  let server = await start(kms);
  await create(server);
  assert.equal(await shown(server), base64);
  for (const path of ['/readyz', '/healthz'])
    assert.match((await ask(server, `${path}?verbose`))[1], /\[\+\]kms-providers ok/);
  assert.doesNotMatch((await ask(server, '/livez?verbose'))[1], /kms/);
  const [, metrics] = await ask(server, '/metrics');
  for (const line of [
    /apiserver_storage_transformation_operations_total\{resource="secrets",transformation_type="to_storage",transformer_prefix="k8s:enc:kms:v2:vault:",status="OK"\} 1/,
    /apiserver_envelope_encryption_key_id_hash_total\{transformation_type="to_storage",provider_name="vault",key_id_hash="sha256:[0-9a-f]{64}",apiserver_id_hash="sha256:[0-9a-f]{64}"\} 1/,
    /apiserver_envelope_encryption_kms_operations_latency_seconds_count\{provider_name="vault",method_name="\/v2.KeyManagementService\/Encrypt",grpc_status_code="OK"\} 1/,
    /apiserver_envelope_encryption_dek_source_cache_size\{provider_name="vault"\} 1/,
    /apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds\{provider_name="vault",/,
    /apiserver_encryption_config_controller_last_config_info\{apiserver_id_hash="sha256:[0-9a-f]{64}",hash="sha256:[0-9a-f]{64}"\} 1/,
  ])
    assert.match(metrics, line);
  const [, backup] = await ask(server, '/porthole/backup');
  assert.ok(backup.includes(prefix) && !backup.includes(base64) && !backup.includes(password));
  await server.stop();
  const bytes = stored();
  assert.ok(bytes.includes(prefix) && !bytes.includes(base64) && !bytes.includes(password));
  assert.ok(!logged.join().includes(base64) && !logged.join().includes(password));

  const asked = plugin.calls.decrypt;
  server = await start(kms);
  assert.equal(await shown(server), base64);
  assert.equal(plugin.calls.decrypt, asked + 1);
  await server.stop();
});

test('what is stored is an EncryptedObject as upstream has it', async (t) => {
  const { scratch, plugin, start, kms } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  const server = await start(kms);
  await create(server);
  const [, backup] = await ask(server, '/porthole/backup');
  const at = backup.indexOf(prefix);
  // The length of a value stands before its key's in a backup; an object of protobuf ends where its last field does.
  const bytes = Buffer.from(backup.slice(at + prefix.length), 'latin1');
  const end = bytes.indexOf(Buffer.from([0x28, 1])) + 2;
  const object = readKmsMessage('EncryptedObject', bytes.subarray(0, end));
  assert.equal(object['keyID'], 'key-1');
  assert.equal(object['encryptedDEKSourceType'], 1);
  assert.deepEqual(object['annotations'], { 'version.kms.example.com': Buffer.from('1') });
  assert.ok((object['encryptedDEKSource'] as Buffer).length > 32);
  await server.stop();
});

test('without its plugin the server starts, Secrets are errors, and come back by themselves with it', async (t) => {
  const { scratch, plugin, start, kms } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  let server = await start(kms);
  await create(server);
  await server.stop();
  plugin.stop();

  server = await start(kms);
  const [status, text] = await ask(server, '/api/v1/secrets');
  assert.equal(status, 500);
  assert.match(
    text,
    /unable to transform key \\"\/registry\/secrets\/default\/s\\": got unexpected nil transformer/,
  );
  await assert.rejects(shown(server), /is not transformable revision=0: got unexpected nil transformer/);
  const other = { metadata: { namespace: 'default', name: 'other' } } as unknown as Secret;
  await assert.rejects(clientOf(server).create(secrets, other), /got unexpected nil transformer/);
  const [unready] = await ask(server, '/readyz');
  const [, why] = await ask(server, '/readyz/kms-providers');
  assert.equal(unready, 500);
  assert.match(
    why,
    /kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault/,
  );
  assert.equal((await ask(server, '/api/v1/configmaps'))[0], 200);

  await plugin.listen();
  await eventually(async () => assert.equal((await ask(server, '/readyz'))[0], 200), { timeoutMs: 30_000 });
  await eventually(async () => assert.equal(await shown(server), base64));
  await create(server).catch((error: Error) => assert.match(error.message, /already exists/));
  await server.stop();
});

test('Secrets move from plain to a plugin and back, and nothing plain is left in the store', async (t) => {
  const { scratch, plugin, start, kms, stored } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  const writeAgain = async (server: RunningServer): Promise<unknown> =>
    clientOf(server).update(secrets, await clientOf(server).get<Secret>(secrets, named));
  let server = await start('{identity: {}}');
  await create(server);
  await server.stop();
  assert.ok(stored().includes(base64));

  server = await start(`${kms}, {identity: {}}`);
  const before = (await clientOf(server).get<Secret>(secrets, named)).metadata?.resourceVersion;
  await writeAgain(server);
  const after = (await clientOf(server).get<Secret>(secrets, named)).metadata?.resourceVersion;
  assert.notEqual(after, before);
  await writeAgain(server);
  const still = (await clientOf(server).get<Secret>(secrets, named)).metadata?.resourceVersion;
  assert.equal(still, after, 'a write that changes nothing is none any more');
  await server.stop();
  assert.ok(!stored().includes(base64), 'nor in history, free pages or logs');
  server = await start(kms);
  assert.equal(await shown(server), base64);
  await server.stop();

  server = await start(`{identity: {}}, ${kms}`);
  await writeAgain(server);
  await server.stop();
  plugin.stop();
  server = await start('{identity: {}}');
  assert.equal(await shown(server), base64);
  await server.stop();
});

test('a sealed store is backed up, restored and put right after damage, without its keys', async (t) => {
  const { scratch, plugin, start, kms } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  const [dataDir, restored, file] = ['data', 'restored', 'backup.gz'].map((name) =>
    join(scratch.path, name),
  ) as [string, string, string];
  await plugin.listen();
  let server = await start(kms);
  await create(server);
  const { backup, running } = await takeBackup(dataDir, { pki: true });
  assert.equal(running, true);
  writeBackup(file, backup);
  await server.stop();
  plugin.stop();
  const bytes = gunzipSync(readFileSync(file)).toString('latin1');
  assert.ok(bytes.includes(prefix) && !bytes.includes(base64) && !bytes.includes(password));
  restoreBackup(restored, readBackup(file), { overStore: false, overKeys: false });
  rmSync(join(dataDir, 'db', 'journal'));
  const { damage, accepted } = repairStore(dataDir, { acceptLoss: true });
  assert.ok(damage !== undefined && accepted !== undefined);

  await plugin.listen();
  for (const folder of [restored, dataDir]) {
    server = await start(kms, { dataDir: folder });
    const secret = await clientOf(server).get<Secret>(secrets, named);
    assert.equal(secret.data?.['password'], base64);
    const again = await clientOf(server).update(secrets, secret);
    assert.equal(again.metadata?.resourceVersion, secret.metadata?.resourceVersion, 'it lies as it should');
    await server.stop();
  }
});

test('what nobody can open is not written over, and can be taken away by who may', async (t) => {
  const { scratch, plugin, start, kms } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  let server = await start(kms);
  await create(server);
  await server.stop();
  plugin.lost.add('key-1');
  server = await start(kms);
  const path = '/api/v1/namespaces/default/secrets/s';
  const object = Buffer.from(
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: named, data: { password: '' } }),
  );
  const lost =
    /is not transformable revision=0: failed to decrypt DEK, error: rpc error: code = Internal desc = no key key-1/;
  for (const [method, query, type] of [
    ['PATCH', '?fieldManager=me&force=true', 'application/apply-patch+yaml'],
    ['PATCH', '', 'application/merge-patch+json'],
    ['PUT', '', 'application/json'],
    ['DELETE', '', 'application/json'],
  ] as const) {
    const body = method === 'DELETE' ? Buffer.alloc(0) : object;
    const [status, text] = await ask(server, path + query, {
      method,
      headers: { 'content-type': type },
      body,
    });
    assert.deepEqual([method, type, status], [method, type, 500], text);
    assert.match(text, lost);
  }
  const option = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ignoreStoreReadErrorWithClusterBreakingPotential: true,
  };
  const [deleted, text] = await ask(server, path, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(option)),
  });
  assert.equal(deleted, 200, text);
  assert.equal((await ask(server, path))[0], 404);
  assert.equal((await ask(server, '/api/v1/secrets'))[0], 200);
  await create(server);
  assert.equal(await shown(server), base64);
  await server.stop();
});
