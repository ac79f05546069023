// A real server whose disk fails under it: after a failed sync it ends with exit code 1, and what it had acknowledged is there at
// the next start. A sector that cannot be read is told as such and not as damage; a write that fails is not acknowledged.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { openState, seeded } from '../../src/storage/testing/store-model.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { startServerChild } from '../harness/server-child.ts';

const scratch = scratchDirectory('disk-errors');
after(() => scratch.remove());

/** A library to be preloaded. */
function build(name: string): string {
  const library = join(scratch.path, `${name}.so`);
  const source = fileURLToPath(new URL(`./programs/${name}.c`, import.meta.url));
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread']);
  assert.equal(built.status, 0, built.stderr?.toString());
  return library;
}
const recorder = build('disk-recorder');
const failingDisk = build('failing-disk');

const namespace = 'default';
const failing = (dataDir: string, what: Record<string, string>): Record<string, string> => ({
  LD_PRELOAD: recorder,
  RECORD_FOLDER: dataDir,
  ...what,
});

/** One after the other until one is not acknowledged. */
async function createUntilRefused(client: Client): Promise<string[]> {
  const acked: string[] = [];
  for (let i = 0; i < 1_000; i++) {
    const name = `m${i}`;
    try {
      await client.create(configmaps, { metadata: { name, namespace }, data: { v: 'x'.repeat(2_000) } });
    } catch {
      return acked;
    }
    acked.push(name);
  }
  return assert.fail('no sync failed');
}

async function namesAfterRestart(dataDir: string): Promise<string[]> {
  const server = await startServerChild({ dataDir });
  try {
    const { client, close } = await server.connect();
    const { items } = await client.list(configmaps, { namespace });
    await close();
    return items.map(({ metadata }) => metadata!.name!).sort();
  } finally {
    await server.kill();
  }
}

test('a server whose store can’t be trusted after a failed sync ends with exit code 1, and the next start has what was acknowledged', async (context) => {
  let acknowledged = 0;
  for (const nth of ['150', '171']) {
    const dataDir = join(scratch.path, `sync-${nth}`);
    const env = failing(dataDir, { FAIL_NAME: '/journal', FAIL_SYNC: nth });
    const server = await startServerChild({ dataDir, env });
    const { client, close } = await server.connect();
    const acked = await createUntilRefused(client);
    assert.deepEqual(await server.ended, { code: 1, signal: null });
    assert.match(server.said(), /must be opened anew/);
    await close();
    const names = await namesAfterRestart(dataDir);
    for (const name of acked) assert.ok(names.includes(name), `${name} was acknowledged`);
    // The write whose sync failed may be there, no other.
    assert.ok(names.length <= acked.length + 1, `${names.length} of ${acked.length}`);
    acknowledged += acked.length;
  }
  context.diagnostic(`2 failed syncs, ${acknowledged} acknowledged writes`);
});

const opener = fileURLToPath(new URL('./programs/open-store.ts', import.meta.url));

test('a sector that cannot be read is told as an error of the disk, and once it reads all is there', async (context) => {
  const dataDir = join(scratch.path, 'sectors');
  let server = await startServerChild({ dataDir });
  const write = async (from: number, to: number): Promise<void> => {
    const { client, close } = await server.connect();
    for (let i = from; i < to; i++)
      await client.create(configmaps, {
        metadata: { name: `r${i}`, namespace },
        data: { v: 'x'.repeat(2_000) },
      });
    await close();
  };
  await write(0, 60);
  server.signal('SIGTERM');
  await server.ended;
  // Some in the database file, the rest in both logs only.
  server = await startServerChild({ dataDir });
  await write(60, 100);
  await server.kill();
  const store = join(dataDir, 'db');
  const wholeCopy = join(scratch.path, 'whole');
  cpSync(store, wholeCopy, { recursive: true });
  const whole = openState(wholeCopy).objects;
  const random = seeded(3);
  let refused = 0;
  let unread = 0;
  for (const name of ['state.db', 'state.db-wal', 'journal'])
    for (let strike = 0; strike < 12; strike++) {
      const copy = join(scratch.path, `${name}-${strike}`);
      cpSync(store, copy, { recursive: true });
      const at = strike === 0 ? 0 : random(statSync(join(store, name)).size);
      const env = {
        ...process.env,
        LD_PRELOAD: failingDisk,
        FAIL_NAME: `/${name}`,
        FAIL_READ_AT: String(at),
      };
      const { status, stdout } = spawnSync(process.execPath, [opener, copy], { encoding: 'utf8', env });
      if (status === 0) {
        // Nothing of the store lay there.
        unread++;
        continue;
      }
      assert.match(stdout, /^cannot (open|read) the store in .*(EIO|I\/O error)/, `${name} at ${at}`);
      assert.doesNotMatch(stdout, /damaged|ends at revision/);
      assert.deepEqual([...openState(copy).objects], [...whole], `${name} at ${at}`);
      refused++;
    }
  assert.ok(refused >= 20, `${refused} openings met the sector, ${unread} did not`);
  const env = { LD_PRELOAD: failingDisk, FAIL_NAME: '/state.db', FAIL_READ_AT: '0' };
  await assert.rejects(
    startServerChild({ dataDir, env }),
    /ended with 1: .*cannot (open|read) the store in/s,
  );
  const names = await namesAfterRestart(dataDir);
  assert.equal(names.filter((name) => name.startsWith('r')).length, 100);
  context.diagnostic(`${refused} openings refused, ${unread} did not read the sector`);
});

test('a write that fails with EIO is not acknowledged or not lost, later ones are, and a restart has exactly what was acknowledged', async (context) => {
  let refused = 0;
  let kept = 0;
  for (const [name, nth] of [
    ['/journal', '40'],
    ['/journal', '41'],
    // A commit of what the journal has already: tried again.
    ['/state.db-wal', '400'],
    ['/state.db-wal', '401'],
  ] as const) {
    const dataDir = join(scratch.path, `write${name.replaceAll('/', '-')}-${nth}`);
    const env = { LD_PRELOAD: failingDisk, FAIL_NAME: name, FAIL_WRITE: nth };
    // The first writes are those of the start.
    await (await startServerChild({ dataDir })).kill();
    const server = await startServerChild({ dataDir, env });
    const { client, close } = await server.connect();
    const acked: string[] = [];
    for (let i = 0; i < 80; i++) {
      const metadata = { name: `w${i}`, namespace };
      await client.create(configmaps, { metadata, data: { v: 'x'.repeat(10_000) } }).then(
        () => acked.push(metadata.name),
        () => refused++,
      );
    }
    await close();
    await server.kill();
    assert.match(server.said(), /a write has failed/, `${name} ${nth}`);
    assert.deepEqual(await namesAfterRestart(dataDir), acked.sort(), `${name} ${nth}`);
    kept += acked.length;
  }
  assert.ok(refused >= 2, `${refused} writes failed`);
  context.diagnostic(`${refused} writes refused, ${kept} kept`);
});
