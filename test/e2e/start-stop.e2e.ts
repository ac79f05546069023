// The product's handshake, as the README gives it: npm start, a look around, npm stop, and nothing is left.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { processesWithArgument } from '../../src/kubelet/containerd/process-table.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { eventually } from '../harness/eventually.ts';
import { kubectlFor } from '../harness/kubectl.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const traces = (home: string): Promise<Record<string, string[]>> =>
  machineTraces(
    ['linux-1', 'windows-1'].map((node) => nodeLayout(clusterPaths(home, 'default').node(node)).cgroupRoot),
  );

/** What `npm start` and `npm stop` are. */
const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));

describe('npm start', { timeout: 300_000 }, () => {
  const scratch = scratchDirectory('start');
  const env = { PORTHOLE_HOME: scratch.path, PORTHOLE_CACHE: portholeCache() };
  let before_: Record<string, string[]>;
  let output = '';
  before(async () => {
    before_ = await traces(scratch.path);
    const result = await linuxProcesses.run(launcher, ['start'], { env, timeoutMs: 240_000 });
    output = result.stdout.toString();
    assert.equal(result.code, 0, `${output}${result.stderr}`);
  });
  after(() => scratch.remove());

  test('prints nodes, pods, and the answer of each program to the other', () => {
    assert.match(output, /^linux-1 +Ready /m);
    assert.match(output, /^windows-1 +Ready .*Windows Server 2022 Datacenter \(emulated/m);
    assert.match(output, /"message": "Hello from a Windows container"/);
    assert.match(output, /^Hello from a Linux container/m);
    assert.match(output, /Microsoft Windows 10\.0\.20348/);
    assert.match(output, /npm stop/);
  });

  test('leaves a cluster that the printed commands reach', async () => {
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(output)?.[1];
    assert.ok(kubeconfig);
    const kubectl = await kubectlFor(kubeconfig);
    assert.match(await kubectl.ok(['get', 'pods', '-A', '-o', 'wide']), /windows-web-.*Running/);
    const status = await linuxProcesses.run(launcher, ['status'], { env });
    assert.match(
      status.stdout.toString(),
      /windows-1 +windows 20348 \(emulated\) +172\.30\.\d+\.\d+ +pid \d+/,
    );
  });

  test('again finds everything in place', async () => {
    const again = await linuxProcesses.run(launcher, ['start'], { env, timeoutMs: 120_000 });
    assert.equal(again.code, 0, again.stderr.toString());
  });

  test('is undone by npm stop: no process, link, namespace, rule, mount or cgroup is left', async () => {
    const result = await linuxProcesses.run(launcher, ['stop'], { env, timeoutMs: 60_000 });
    assert.equal(result.code, 0, result.stderr.toString());
    assert.deepEqual(await traces(scratch.path), before_);
    assert.equal(existsSync(join(scratch.path, 'clusters')), false);
    const twice = await linuxProcesses.run(launcher, ['stop'], { env });
    assert.match(twice.stderr.toString(), /there is no cluster/);
  });
});

describe('npm start without root', { timeout: 120_000 }, () => {
  test('comes up with the simulated runtime, says so, and stops', async () => {
    const scratch = scratchDirectory('nobody');
    chmodSync(scratch.path, 0o777);
    const cache = join(scratch.path, 'cache');
    mkdirSync(cache);
    chmodSync(cache, 0o777);
    // kubectl is fetched by the set-up of the tests: there is no network in here.
    symlinkSync(join(portholeCache(), 'tools'), join(cache, 'tools'));
    // Root has had a cluster on this machine.
    mkdirSync('/run/porthole', { recursive: true, mode: 0o700 });
    chmodSync('/run/porthole', 0o700);
    const env = {
      HOME: scratch.path,
      KUBECONFIG: '',
      PORTHOLE_HOME: join(scratch.path, 'home'),
      PORTHOLE_CACHE: cache,
    };
    const theirs = join(scratch.path, '.kube/config');
    const asNobody = (name: 'start' | 'stop'): ReturnType<typeof linuxProcesses.run> =>
      linuxProcesses.run('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', launcher, name], {
        env,
        timeoutMs: 90_000,
      });
    try {
      const started = await asNobody('start');
      const said = started.stdout.toString() + started.stderr.toString();
      assert.equal(started.code, 0, said);
      assert.match(said, /runtime: simulated \(.*you are not root/);
      assert.match(said, /windows-web-\S+ +1\/1 +Running/);
      assert.match(said, /nothing runs/);
      assert.match(said, /kubectl's context is porthole-default now, in .*\/\.kube\/config/);
      assert.match(readFileSync(theirs, 'utf8'), /^current-context: porthole-default$/m);
      const stopped = await asNobody('stop');
      assert.equal(stopped.code, 0, stopped.stderr.toString());
      assert.equal(existsSync(theirs), false, 'it was made for the cluster');
    } finally {
      rmSync('/run/porthole', { recursive: true });
      scratch.remove();
    }
  });
});

test('an up that can not make its network, or is interrupted meanwhile, leaves no process; the next one goes on', async (t) => {
  const scratch = scratchDirectory('no-network');
  t.after(() => scratch.remove());
  const env = { PORTHOLE_HOME: scratch.path, PORTHOLE_CACHE: portholeCache() };
  const porthole = (args: readonly string[], more = {}): ReturnType<typeof linuxProcesses.run> =>
    linuxProcesses.run(launcher, [...args, '--name', 'no-network'], {
      env: { ...env, ...more },
      timeoutMs: 120_000,
    });
  const programs = join(scratch.path, 'programs');
  mkdirSync(programs);
  const { root } = clusterPaths(scratch.path, 'no-network');
  const up = ['up', '--windows', '0', '--no-merge'];
  const upWith = (nft: string): ReturnType<typeof linuxProcesses.run> => {
    writeFileSync(join(programs, 'nft'), `#!/bin/sh\n${nft}\n`, { mode: 0o755 });
    return porthole(up, { PATH: `${programs}:${process.env['PATH']}` });
  };
  const supervised = `until [ -e ${join(root, 'supervisor.json')} ]; do sleep 0.05; done`;
  const failed = await upWith(`${supervised}; echo no rules today >&2; exit 1`);
  assert.notEqual(failed.code, 0);
  assert.match(failed.stderr.toString(), /no rules today/);
  assert.deepEqual(await processesWithArgument(linuxFiles, root), []);
  const interrupted = await upWith('kill -INT $PPID; exec sleep 1');
  assert.match(interrupted.stderr.toString(), /cluster no-network is begun, and nothing of it runs/);
  assert.equal(interrupted.code, 130);
  await eventually(async () => assert.deepEqual(await processesWithArgument(linuxFiles, root), []));
  const again = await porthole(up);
  assert.equal(again.code, 0, again.stderr.toString());
  const down = await porthole(['down']);
  assert.equal(down.code, 0, down.stderr.toString());
});
