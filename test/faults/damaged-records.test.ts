// porthole status, of several clusters of which one's record is damaged.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths, writeClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));
const home = scratchDirectory('damaged-records');
after(() => home.remove());

const add = (name: string): void =>
  writeClusterState(clusterPaths(home.path, name), {
    id: name,
    name,
    version: 1,
    runtime: 'simulated',
    topology: 'host-gateway',
    server: 'https://127.0.0.1:1',
    clusterCidr: '10.244.0.0/16',
    nodes: [],
    processes: [],
  });

async function status(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PORTHOLE_HOME: home.path };
  const { code, stdout, stderr } = await linuxProcesses.run(launcher, ['status', ...args], {
    env,
    timeoutMs: 120_000,
  });
  return { code, out: stdout.toString(), err: stderr.toString() };
}

test('status shows the others, says which is damaged and what to do, and ends with 1', async () => {
  for (const name of ['a', 'broken', 'c']) add(name);
  assert.deepEqual((await status()).code, 0);
  const { state } = clusterPaths(home.path, 'broken');
  for (const file of [state, `${state}.copy`]) writeFileSync(file, '{');
  const all = await status();
  assert.match(all.out, /^a: https.*^c: https/ms);
  assert.doesNotMatch(all.out, /broken/);
  assert.match(
    all.err,
    /cluster "broken": .*cluster\.json cannot be read, nor can its copy; nothing was touched/,
  );
  assert.equal(all.code, 1);
  const one = await status('--name', 'c');
  assert.deepEqual([one.code, one.err], [0, '']);
  assert.equal((await status('--name', 'broken')).code, 1);
});
