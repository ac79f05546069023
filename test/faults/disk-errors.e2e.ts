// A real server whose disk fails under it: after a failed sync it ends with exit code 1, and what it had acknowledged is there at
// the next start.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { startServerChild } from '../harness/server-child.ts';

const scratch = scratchDirectory('disk-errors');
after(() => scratch.remove());
const recorder = join(scratch.path, 'disk-recorder.so');
const source = fileURLToPath(new URL('./programs/disk-recorder.c', import.meta.url));
const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', recorder, source, '-ldl', '-lpthread']);
assert.equal(built.status, 0, built.stderr?.toString());

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
