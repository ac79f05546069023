// Backups of a server that writes, restored elsewhere; damage that is accepted; parts of a data directory that are gone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configmaps, secrets } from '../../src/api/generated/resources.ts';
import type { ConfigMap } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { Client } from '../../src/client/client.ts';
import { readBackup, restoreBackup, takeBackup, writeBackup } from '../../src/cmd/compose/backups.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { seeded } from '../../src/storage/testing/store-model.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('backup');
after(() => scratch.remove());
let count = 0;
const newFolder = (): string => join(scratch.path, `server-${count++}`);
const start = (dataDir: string): Promise<RunningServer> =>
  startServer({ dataDir, securePort: 0, bindAddress: '127.0.0.1', log: silentLogger });

const clientOf = (server: RunningServer): Client => server.controlPlane.clientFor(administrator);
const map = (name: string, value: string): ConfigMap =>
  ({ metadata: { name, namespace: 'default' }, data: { value } }) as unknown as ConfigMap;

async function withServer<T>(
  dataDir: string,
  use: (client: Client, server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await start(dataDir);
  try {
    return await use(clientOf(server), server);
  } finally {
    await server.stop();
  }
}

/** `bin/porthole` without its bundle. */
async function porthole(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const main = fileURLToPath(new URL('../../src/cmd/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code: code as number | null, stdout, stderr };
}

/** Names and values of the objects that the tests make. */
async function maps(client: Client): Promise<Record<string, string>> {
  const { items } = await client.list(configmaps, { namespace: 'default' });
  return Object.fromEntries(
    items.filter((i) => i.data?.value !== undefined).map((i) => [i.metadata!.name!, i.data!.value!]),
  );
}

/** What an informer that comes back with an old revision is told. */
async function watchFrom(client: Client, resourceVersion: string): Promise<string> {
  try {
    for await (const event of client.watch(configmaps, { resourceVersion, timeoutSeconds: 1 }))
      if (event.type === 'ERROR') return String(event.object.reason);
  } catch (error) {
    if (isStatusError(error)) return error.reason;
    throw error;
  }
  return 'watches';
}

test('a backup of a server that writes shows one revision of it, and is restored on another machine with its keys', async () => {
  const dataDir = newFolder();
  const file = join(scratch.path, 'one.backup');
  const seen = await withServer(dataDir, async (client, server) => {
    for (let i = 0; i < 20; i++) await client.create(configmaps, map(`before-${i}`, String(i)));
    await client.create(secrets, {
      metadata: { name: 's', namespace: 'default' },
      stringData: { a: 'b' },
    } as never);
    let going = true;
    const written: { name: string; revision: number }[] = [];
    const writers = Array.from({ length: 4 }, async (_, w) => {
      for (let i = 0; going; i++) {
        const made = await client.create(configmaps, map(`during-${w}-${i}`, String(i)));
        written.push({ name: made.metadata!.name!, revision: Number(made.metadata!.resourceVersion) });
      }
    });
    const told = await porthole('backup', '--data-dir', dataDir, '-o', 'json', file);
    going = false;
    await Promise.all(writers);
    assert.equal(told.code, 0, told.stderr);
    const { revision, running } = JSON.parse(told.stdout) as { revision: number; running: boolean };
    assert.ok(running);
    assert.match(told.stderr, /writing and checking/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const { entries } = readBackup(file);
    const names = new Set(entries.map((e) => e.key.split('/').at(-1)!));
    for (const one of written) assert.equal(names.has(one.name), one.revision <= revision, one.name);
    assert.ok(written.some((one) => one.revision <= revision) || revision > 20);
    return { revision, port: server.port, ca: server.pki.caCertificatePem };
  });

  const other = newFolder();
  const back = await porthole('restore', '--data-dir', other, '-o', 'json', file);
  assert.equal(back.code, 0, back.stderr);
  const restored = JSON.parse(back.stdout) as { revision: number; pki: string };
  assert.equal(restored.revision, seen.revision + 1_000_000_000);
  assert.equal(restored.pki, 'restored');
  await withServer(other, async (client, server) => {
    assert.equal(server.pki.caCertificatePem, seen.ca);
    const found = await maps(client);
    for (let i = 0; i < 20; i++) assert.equal(found[`before-${i}`], String(i));
    assert.equal((await client.get(secrets, { name: 's', namespace: 'default' })).data?.a, 'Yg==');
    for (const old of [1, seen.revision - 1, seen.revision, seen.revision + 500])
      assert.equal(await watchFrom(client, String(old)), 'Expired');
    const made = await client.create(configmaps, map('after', 'x'));
    assert.ok(Number(made.metadata!.resourceVersion) > restored.revision);
  });
});

test('restore refuses a server that runs, a store that is there, and what is no backup', async () => {
  const dataDir = newFolder();
  const file = join(scratch.path, 'two.backup');
  await withServer(dataDir, async (client) => {
    await client.create(configmaps, map('a', '1'));
    writeBackup(file, (await takeBackup(dataDir, { pki: true })).backup);
    const running = await porthole('restore', '--data-dir', dataDir, '--force', file);
    assert.equal(running.code, 1);
    assert.match(running.stderr, /is in use by another process/);
    await client.create(configmaps, map('b', '2'));
  });
  const there = await porthole('restore', '--data-dir', dataDir, file);
  assert.equal(there.code, 1);
  assert.match(there.stderr, /there is a store in .*: --force puts it aside and restores over it/);
  const none = join(scratch.path, 'none');
  writeFileSync(none, 'no backup');
  assert.match(
    (await porthole('restore', '--data-dir', newFolder(), none)).stderr,
    /is damaged or no backup/,
  );

  const forced = await porthole('restore', '--data-dir', dataDir, '--force', file);
  assert.equal(forced.code, 0, forced.stderr);
  const aside = (): string[] => readdirSync(dataDir).filter((name) => name.startsWith('db.before-'));
  assert.equal(aside().length, 1);
  const [first] = aside();
  const again = (): ReturnType<typeof porthole> =>
    porthole('restore', '--data-dir', dataDir, '--force', file);
  assert.doesNotMatch((await again()).stdout, /removed/, 'two stay');
  const [, second] = aside();
  assert.match(
    (await again()).stdout,
    new RegExp(`removed: ${dataDir}/${first}, which was put aside before: the last two stay`),
  );
  assert.deepEqual([aside().length, aside().includes(first!), aside()[0]], [2, false, second]);
  await withServer(dataDir, async (client) => assert.deepEqual(await maps(client), { a: '1' }));
});

test('a backup of which any byte was changed or cut is refused', async (context) => {
  const dataDir = newFolder();
  await withServer(dataDir, (client) => client.create(configmaps, map('a', '1')));
  const file = join(scratch.path, 'three.backup');
  writeBackup(file, (await takeBackup(dataDir, { pki: true })).backup);
  const whole = readFileSync(file);
  const damaged = join(scratch.path, 'damaged.backup');
  const random = seeded(5);
  let harmless = 0;
  for (let i = 0; i < 150; i++) {
    const bytes = Buffer.from(whole);
    const at = random(bytes.length);
    if (i % 3 === 0) writeFileSync(damaged, bytes.subarray(0, at));
    else {
      bytes[at] = bytes[at]! ^ (1 << random(8));
      writeFileSync(damaged, bytes);
    }
    try {
      // The head of a gzip file holds a time and a system that mean nothing.
      assert.deepEqual(readBackup(damaged), readBackup(file));
      harmless++;
      assert.ok(at < 10);
    } catch (error) {
      assert.match((error as Error).message, /damaged|cut off|no backup/);
    }
  }
  context.diagnostic(`150 strikes, ${harmless} without meaning`);
});

test('a damaged store ends the start with the next step; what can be read goes on far ahead of old revisions', async (context) => {
  const dataDir = newFolder();
  const last = await withServer(dataDir, async (client) => {
    let revision = '';
    for (let i = 0; i < 30; i++)
      revision = (await client.create(configmaps, map(`m-${i}`, `value-of-${i}-`.repeat(20)))).metadata!
        .resourceVersion!;
    return revision;
  });
  const path = join(dataDir, 'db/state.db');
  const bytes = readFileSync(path);
  bytes[bytes.lastIndexOf('value-of-7-') + 3] = 0x21;
  writeFileSync(path, bytes);

  await assert.rejects(
    start(dataDir),
    /is damaged \(the checksum of .*m-7 is wrong\): restore it.*porthole restore.*porthole repair/,
  );
  const said = await porthole('repair', '--data-dir', dataDir);
  assert.equal(said.code, 1);
  assert.match(said.stdout, /^gone: \/registry\/core\/configmaps\/default\/m-7$/m);
  assert.deepEqual(readFileSync(path), bytes, 'nothing was changed');

  const accepted = await porthole('repair', '--data-dir', dataDir, '--accept-loss', '-o', 'json');
  assert.equal(accepted.code, 0, accepted.stderr);
  const { revision, gone } = JSON.parse(accepted.stdout) as { revision: number; gone: string[] };
  assert.equal(revision, Number(last) + 1_000_000_000);
  assert.deepEqual(gone, ['/registry/core/configmaps/default/m-7']);
  await withServer(dataDir, async (client) => {
    const found = await maps(client);
    assert.equal(Object.keys(found).length, 29);
    assert.equal(await watchFrom(client, last), 'Expired');
    assert.equal(await watchFrom(client, String(Number(last) + 1)), 'Expired');
  });
  assert.match((await porthole('repair', '--data-dir', dataDir)).stdout, /the store is whole/);
  context.diagnostic(`29 of 30 objects kept`);
});

for (const [what, remove] of [
  ['db', 'db'],
  ['pki/sa.key', 'pki/sa.key'],
  ['pki/ca.crt', 'pki/ca.crt'],
] as const)
  test(`a server whose ${what} is gone does not start with a new one`, async () => {
    const dataDir = newFolder();
    await withServer(dataDir, (client) => client.create(configmaps, map('a', '1')));
    const kept = join(scratch.path, `kept-${count}`);
    renameSync(join(dataDir, remove), kept);
    const names = readdirSync(dataDir).sort();
    await assert.rejects(start(dataDir), (error: Error) => {
      assert.equal(
        error.message,
        `${what} is missing from ${dataDir}, which was in use: bring it back (porthole restore --data-dir ${dataDir} FILE), or begin anew with an empty folder`,
      );
      return true;
    });
    assert.deepEqual(readdirSync(dataDir).sort(), names);
    assert.ok(!existsSync(join(dataDir, remove)));
    renameSync(kept, join(dataDir, remove));
    await withServer(dataDir, async (client) => assert.deepEqual(await maps(client), { a: '1' }));
  });

test('keys that were in use, without the store and the list of what was there, do not begin an empty cluster', async () => {
  const dataDir = newFolder();
  await withServer(dataDir, (client) => client.create(configmaps, map('a', '1')));
  const { backup } = await takeBackup(dataDir, { pki: true });
  for (const name of ['db', 'contents.json']) rmSync(join(dataDir, name), { recursive: true });
  const names = readdirSync(dataDir).sort();
  await assert.rejects(
    start(dataDir),
    new RegExp(
      `^Error: db, contents.json are missing from ${dataDir}, which was in use: bring it back \\(porthole restore`,
    ),
  );
  assert.deepEqual(readdirSync(dataDir).sort(), names);
  restoreBackup(dataDir, backup, { overStore: false, overKeys: false });
  await withServer(dataDir, async (client) => assert.deepEqual(await maps(client), { a: '1' }));
});

test('what is missing comes back from a backup, and what is there stays', async () => {
  const dataDir = newFolder();
  await withServer(dataDir, (client) => client.create(configmaps, map('a', '1')));
  const { backup } = await takeBackup(dataDir, { pki: true });
  const before = newFolder();
  cpSync(dataDir, before, { recursive: true });
  rmSync(join(dataDir, 'db'), { recursive: true });
  assert.equal(restoreBackup(dataDir, backup, { overStore: false, overKeys: false }).pki, 'kept');
  await withServer(dataDir, async (client) => assert.deepEqual(await maps(client), { a: '1' }));
  for (const name of ['ca.key', 'sa.key'])
    assert.deepEqual(readFileSync(join(dataDir, 'pki', name)), readFileSync(join(before, 'pki', name)));
});

test('a backup that names files outside of pki is refused before anything is changed', async () => {
  const dataDir = newFolder();
  await withServer(dataDir, (client) => client.create(configmaps, map('a', '1')));
  const { backup } = await takeBackup(dataDir, { pki: true });
  const before = readdirSync(dataDir, { recursive: true }).sort();
  for (const name of ['pki/../escaped', '/etc/escaped', 'db/state.db']) {
    const forged = { ...backup, files: [...backup.files, { name, text: 'x' }] };
    assert.throws(
      () => restoreBackup(dataDir, forged, { overStore: true, overKeys: true }),
      /names a file that is none of a server's/,
    );
    assert.deepEqual(readdirSync(dataDir, { recursive: true }).sort(), before);
  }
});
