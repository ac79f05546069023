// Commands that meet: two `up` at once, `up` during `down`, and an `up` or `down` that is killed anywhere. One cluster comes
// of it, with one process for each of its parts, or none.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { processesWithArgument } from '../../src/kubelet/containerd/process-table.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { RunResult } from '../../src/os/processes.ts';
import { eventually } from '../harness/eventually.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));

/** Runs `porthole` in a home; its result as text. */
function porthole(home: string, ...args: string[]): Promise<RunResult> {
  const env = { PORTHOLE_HOME: home, PORTHOLE_CACHE: portholeCache() };
  return linuxProcesses.run(launcher, args, { env, timeoutMs: 180_000 });
}

const saying = ({ stdout, stderr }: RunResult): string => `${stdout}${stderr}`;
const upArguments = (name: string, runtime: 'containerd' | 'simulated'): string[] => [
  'up',
  '--name',
  name,
  '--linux',
  '1',
  '--windows',
  '0',
  '--runtime',
  runtime,
];

/** The processes of this machine that work on a folder below the home, by that folder. */
const partsOf = async (home: string): Promise<string[]> =>
  (await processesWithArgument(linuxFiles, '--data-dir'))
    .map(({ args }) => args[args.indexOf('--data-dir') + 1] ?? '')
    .filter((dataDir) => dataDir.startsWith(`${home}/`))
    .map((dataDir) => dataDir.slice(home.length))
    .sort();
const parts = (name: string): string[] => [`/clusters/${name}/nodes/linux-1`, `/clusters/${name}/server`];

describe('commands at once', limit, () => {
  const home = scratchDirectory('once');
  after(async () => {
    // What a test that failed has left would be found by the next.
    const clusters = dirname(clusterPaths(home.path, 'one').root);
    for (const name of existsSync(clusters) ? readdirSync(clusters) : [])
      await porthole(home.path, 'down', '--name', name);
    home.remove();
  });

  test('two up of one cluster: both find it up, and each part runs once', limit, async () => {
    const results = await Promise.all(
      [1, 2, 3].map(() => porthole(home.path, ...upArguments('one', 'containerd'))),
    );
    for (const result of results) assert.equal(result.code, 0, saying(result));
    assert.ok(results.some((result) => saying(result).includes('another command works on cluster one')));
    assert.deepEqual(await partsOf(home.path), parts('one'));
  });

  test('clusters of different names at once get different addresses', limit, async () => {
    const names = ['two', 'three', 'four'];
    const results = await Promise.all(
      names.map((name) => porthole(home.path, ...upArguments(name, 'simulated'))),
    );
    for (const result of results) assert.equal(result.code, 0, saying(result));
    const servers = ['one', ...names].map((name) => readClusterState(clusterPaths(home.path, name))!.server);
    assert.equal(new Set(servers).size, 4, servers.join(' '));
    for (const name of names) assert.equal((await porthole(home.path, 'down', '--name', name)).code, 0);
  });

  test('up during down, and down during up, take turns', limit, async () => {
    const [down, up] = await Promise.all([
      porthole(home.path, 'down', '--name', 'one'),
      porthole(home.path, ...upArguments('one', 'containerd')),
    ]);
    assert.equal(down.code, 0, saying(down));
    assert.equal(up.code, 0, saying(up));
    // whichever came first, the next two find a cluster or none, never half of one
    const again = await porthole(home.path, ...upArguments('one', 'containerd'));
    assert.equal(again.code, 0, saying(again));
    assert.deepEqual(await partsOf(home.path), parts('one'));
    assert.equal((await porthole(home.path, 'down', '--name', 'one')).code, 0);
    assert.deepEqual(await partsOf(home.path), []);
  });

  test('down and status of a cluster that is not there fail with a sentence', limit, async () => {
    for (const command of ['down', 'status']) {
      const result = await porthole(home.path, command, '--name', 'nope');
      assert.equal(result.code, 1);
      assert.match(result.stderr.toString(), /^porthole: there is no cluster "nope" in this home/m);
    }
  });

  test('npm stop of another cluster than was started says how to stop that one', limit, async () => {
    assert.equal((await porthole(home.path, ...upArguments('other', 'simulated'))).code, 0);
    const stopped = await porthole(home.path, 'stop');
    assert.equal(stopped.code, 1);
    assert.match(
      stopped.stderr.toString(),
      /^porthole: there is no cluster "default" to stop, but others are: npm stop -- --name other$/m,
    );
    assert.equal((await porthole(home.path, 'stop', '--name', 'other')).code, 0);
    assert.equal((await porthole(home.path, 'stop')).code, 0, 'nothing is left');
  });
});

describe('killed commands', limit, () => {
  const home = scratchDirectory('killed');
  after(() => home.remove());
  const group = nodeLayout(clusterPaths(home.path, 'one').node('linux-1')).cgroupRoot;

  /** Starts the command, kills it after the time, and says whether it still ran. */
  async function killAfter(ms: number, args: readonly string[]): Promise<boolean> {
    const env = { PORTHOLE_HOME: home.path, PORTHOLE_CACHE: portholeCache() };
    const child = linuxProcesses.spawn(launcher, args, { env });
    child.stdout?.resume();
    child.stderr?.resume();
    let ended = false;
    void child.exited.then(() => {
      ended = true;
    });
    await new Promise((done) => setTimeout(done, ms));
    const struck = !ended;
    child.kill('SIGKILL');
    await child.exited;
    return struck;
  }

  test('an up or down that is killed anywhere is finished by the next', limit, async (t) => {
    const found = await machineTraces([group]);
    const times = [150, 400, 700, 1000, 1400, 1900];
    let kills = 0;
    for (const [i, ms] of times.entries()) {
      if (await killAfter(ms, upArguments('one', 'containerd'))) kills++;
      if (i % 2 === 0) {
        const up = await porthole(home.path, ...upArguments('one', 'containerd'));
        assert.equal(up.code, 0, `${ms} ms: ${saying(up)}`);
        assert.deepEqual(await partsOf(home.path), parts('one'), `${ms} ms`);
        if (await killAfter(ms, ['down', '--name', 'one'])) kills++;
      }
      const isThere = existsSync(clusterPaths(home.path, 'one').state);
      // of a command that was killed before there was a cluster the next one takes the lock away
      const down = await porthole(home.path, 'down', '--name', 'one');
      if (isThere) assert.equal(down.code, 0, `${ms} ms: ${saying(down)}`);
      // what a killed command was running (ip, nft) ends by itself
      await eventually(async () => assert.deepEqual(await machineTraces([group]), found, `${ms} ms`));
      assert.deepEqual(await partsOf(home.path), [], `${ms} ms`);
    }
    t.diagnostic(`${kills} kills`);
    console.log(`killed ${kills} commands`);
    assert.ok(kills >= times.length, `${kills} kills`);
    assert.deepEqual(readdirSync(home.path), []);
    assert.equal(existsSync('/run/porthole'), false);
  });
});
