// The encryption configuration is read again when its content changes: what it says then holds, unless it is wrong or its plugins are not well.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { openEncryption } from '../../src/cmd/compose/encryption.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { createCacheSource } from '../../src/storage/watch/cache-source.ts';
import { eventually } from '../harness/eventually.ts';
import { kmsPlugin } from '../harness/kms-plugin.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const key = '/registry/core/secrets/default/a';
const draft = { bytes: Buffer.from('{"resourceVersion":"","data":"v"}'), revisionAt: 20 };
const aes = (name: string, byte: number): string =>
  `{aesgcm: {keys: [{name: ${name}, secret: "${Buffer.alloc(32, byte).toString('base64')}"}]}}`;

async function begin(t: { after(run: () => void): void }, first: string) {
  const scratch = scratchDirectory('encryption-reload');
  const file = join(scratch.path, 'encryption.yaml');
  const write = (...providers: string[]): void =>
    writeFileSync(
      file,
      `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [${providers.join(', ')}]}]}`,
    );
  write(first);
  const inner = new MemoryStorage(systemClock);
  const metrics = createMetrics({ processMetrics: false });
  const errors: string[] = [];
  const log = {
    ...silentLogger,
    error: (fields: object) => void errors.push(String((fields as { error: unknown }).error)),
  };
  const encryption = await openEncryption({ file, reload: true }, inner, {
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    serverId: 'me',
    everyMs: 20,
  });
  t.after(() => {
    encryption.stop();
    scratch.remove();
  });
  const counted = async (status: string): Promise<number> => {
    const { text } = await metrics.text();
    const line = text
      .split('\n')
      .find((one) =>
        one.startsWith(`apiserver_encryption_config_controller_automatic_reloads_total{status="${status}"`),
      );
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const hash = async (): Promise<string | undefined> =>
    /last_config_info\{.*,hash="(sha256:[0-9a-f]{64})"\} 1/.exec((await metrics.text()).text)?.[1];
  const lies = async (): Promise<string> => (await inner.get(key))!.value.toString('latin1', 0, 24);
  return { scratch, file, write, encryption, errors, counted, hash, lies };
}

test('a new first key writes from then on, what lies under the old one is stale, and what it opens comes back', async (t) => {
  const { write, encryption, counted, hash, lies } = await begin(t, aes('one', 1));
  const { storage } = encryption;
  const created = await storage.create(key, draft);
  assert.ok(created.ok);
  assert.match(await lies(), /^k8s:enc:aesgcm:v1:one:/);
  const [before, stale] = [await hash(), storage.isStale!(key)];
  assert.equal(stale, false);

  const caches = await createCacheSource(storage, systemClock);
  t.after(() => caches.close());
  encryption.tell(() => caches.readAgain());
  const secrets = caches.cache({ group: '', resource: 'secrets' }, () => ({
    namespace: 'default',
    name: 'a',
    uid: '',
    labels: {},
    fields: {},
  }));
  write(aes('two', 2));
  await eventually(async () => assert.equal(await counted('success'), 1));
  assert.notEqual(await hash(), before);
  assert.equal((await storage.get(key))?.fault, 'no matching key was found for the provided AES transformer');
  assert.equal(
    secrets.get('default', 'a')?.revision,
    created.entry.revision,
    'what was read before is served',
  );
  const other = await storage.create(`${key}2`, draft);
  assert.ok(other.ok);

  write(aes('one', 1));
  await eventually(async () => assert.equal(await counted('success'), 2));
  assert.equal(
    (await storage.get(`${key}2`))?.fault,
    'no matching key was found for the provided AES transformer',
  );
  write(aes('two', 2), aes('one', 1));
  await eventually(async () => assert.equal(await counted('success'), 3));
  assert.equal((await storage.get(key))?.fault, undefined);
  assert.equal(storage.isStale!(key), true);
  assert.ok((await storage.update(key, draft, created.entry.revision)).ok);
  assert.equal(storage.isStale!(key), false);
  assert.match(await lies(), /^k8s:enc:aesgcm:v1:two:/);
});

test('a file that is wrong, empty or gone changes nothing, is told without its keys, and is tried again', async (t) => {
  const { file, write, encryption, errors, counted, hash } = await begin(t, aes('one', 1));
  const before = await hash();
  const secret = Buffer.alloc(32, 7).toString('base64');
  const broken: (readonly [() => void, RegExp])[] = [
    [() => write(`{aesgcm: {keys: [{name: k, secret:${secret}}]}}`), /unknown field ".*REDACTED"/],
    [
      () => writeFileSync(file, '#'.repeat((3 << 20) + 1)),
      / has 3145729 bytes: a configuration file may have 3145728/,
    ],
    [() => writeFileSync(file, ''), /encryption provider configuration file ".*" is empty/],
    [() => rmSync(file), /ENOENT/],
  ];
  for (const [breakIt, message] of broken) {
    const failures = await counted('failure');
    breakIt();
    await eventually(async () => assert.ok((await counted('failure')) > failures));
    assert.match(errors.at(-1)!, message);
    assert.ok((await encryption.storage.create(`${key}${failures}`, draft)).ok);
  }
  assert.equal(await hash(), before);
  assert.ok(!errors.join().includes(secret));
  write(aes('two', 2));
  await eventually(async () => assert.notEqual(await hash(), before));
});

test('a new plugin must be well before it holds; the check of health asks the one that holds', async (t) => {
  const { scratch, write, encryption, errors, counted, lies } = await begin(t, aes('one', 1));
  const plugin = kmsPlugin(join(scratch.path, 'kms.sock'));
  plugin.status.healthz = 'warming up';
  await plugin.listen();
  t.after(() => plugin.stop());
  const health = encryption.health[0]!;
  assert.deepEqual([health.name, health.paths], ['kms-providers', ['readyz', 'healthz']]);
  await health.check();
  write(`{kms: {apiVersion: v2, name: vault, endpoint: "${plugin.endpoint}", timeout: 1s}}`, aes('one', 1));
  await eventually(() => assert.ok(plugin.calls.status > 0));
  const created = await encryption.storage.create(key, draft);
  assert.ok(created.ok);
  assert.match(await lies(), /^k8s:enc:aesgcm:v1:one:/);
  await eventually(async () => assert.equal(await counted('failure'), 1));
  assert.match(
    errors.at(-1)!,
    /health check for new transformers failed, polling error .*got unexpected healthz status: warming up/,
  );
  plugin.status.healthz = 'ok';
  await eventually(async () => assert.equal(await counted('success'), 1));
  assert.ok((await encryption.storage.update(key, draft, created.entry.revision)).ok);
  assert.match(await lies(), /^k8s:enc:kms:v2:vault:/);
  await health.check();
});

test('the flag alone is refused', async (t) => {
  const scratch = scratchDirectory('encryption-reload-flag');
  t.after(() => scratch.remove());
  const options = { dataDir: scratch.path, securePort: 0, bindAddress: '127.0.0.1', log: silentLogger };
  await assert.rejects(
    startServer({ ...options, encryptionReload: true }),
    /--encryption-provider-config-automatic-reload must be set with --encryption-provider-config/,
  );
});
