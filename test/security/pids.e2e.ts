// Processes without an end: a fork bomb fills its own pod and nobody else's; what is reserved stays the machine's.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes } from '../../src/api/generated/resources.ts';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import {
  readSupervision,
  readSupervisorState,
  supervisedState,
  writeSupervision,
} from '../../src/cmd/supervisor/supervision.ts';
import { parseThresholds } from '../../src/kubelet/eviction/thresholds.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';
import { podManifest, startLinuxCluster } from '../harness/linux-cluster.ts';

const limit = { timeout: 120_000 };
const reserved = { milliCpu: 500, memoryBytes: 512 << 20, pids: 1000 };
const thresholds = parseThresholds('memory.available<100Mi');
let node: KubeletNode;
before(async () => {
  node = await startKubeletNode({ limits: { podPidsLimit: 200, reserved, thresholds } });
}, limit);
after(() => node?.close(), limit);

/** A file of a control group, in the hierarchy of its controller or in the one hierarchy of version 2. */
function groupFile(controller: string, name: string, v1: string, v2: string): string {
  const one = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const path = one ? join('/sys/fs/cgroup', name, v2) : join('/sys/fs/cgroup', controller, name, v1);
  return readFileSync(path, 'utf8').trim();
}
const root = (): string => `/${basename(node.directory)}/kubepods`;

/** How often it forked, by a log that tells of it: its refusal, from the other stream, may come before what was said earlier. */
function forksUntilRefused(log: string): number {
  assert.match(log, /can't fork: Resource temporarily unavailable/);
  return Math.max(...(log.match(/^\d+$/gm) ?? []).map(Number));
}

test('a fork bomb ends in EAGAIN within its pod, and another pod starts and forks', limit, async () => {
  const container = (script: string): object => ({
    name: 'main',
    image: node.image,
    command: ['/bin/sh', '-c', script],
  });
  await node.create('bomb', {
    restartPolicy: 'Never',
    containers: [container('n=0; while [ $n -lt 1000 ]; do echo $n; n=$((n+1)); sleep 600 & done')],
  });
  const log = async (): Promise<string> => (await node.request('/containerLogs/default/bomb/main')).text;
  await eventually(async () => {
    const last = forksUntilRefused(await log());
    assert.ok(last > 100 && last <= 200, `it forked ${last} times`);
  });
  const { uid } = (await node.get('bomb')).metadata;
  assert.equal(groupFile('pids', `${root()}/besteffort/pod${uid}`, 'pids.max', 'pids.max'), '200');
  await node.create('neighbour', {
    containers: [
      container(
        'for i in 1 2 3; do (true) & done; wait; echo forked; trap "exit 0" TERM; while true; do sleep 0.1; done',
      ),
    ],
  });
  await eventually(async () =>
    assert.equal((await node.request('/containerLogs/default/neighbour/main')).text, 'forked\n'),
  );
  await node.remove('neighbour');
  await node.remove('bomb');
});

test(
  'what is reserved is neither allocatable nor within the limits of all pods together',
  limit,
  async () => {
    const { capacity = {}, allocatable = {} } = (await node.client.get(nodes, { name: 'node-1' })).status!;
    const kib = (quantity: string | number | undefined): number =>
      Number(String(quantity).replace(/Ki$/, ''));
    assert.equal(allocatable['cpu'], `${Number(capacity['cpu']) * 1000 - 500}m`);
    // 100Mi are kept for evictions, as upstream does.
    assert.equal(kib(capacity['memory']) - kib(allocatable['memory']), (512 + 100) * 1024);
    const most = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
    const threads = Number(readFileSync('/proc/sys/kernel/threads-max', 'utf8'));
    assert.equal(Number(groupFile('pids', root(), 'pids.max', 'pids.max')), Math.min(most, threads) - 1000);
    const memory = Number(groupFile('memory', root(), 'memory.limit_in_bytes', 'memory.max'));
    assert.ok(
      Math.abs(memory - (kib(capacity['memory']) * 1024 - reserved.memoryBytes)) < 1 << 20,
      String(memory),
    );
  },
);

test("--pod-max-pids of `porthole agent` is the limit of a pod's own control group", {
  timeout: 400_000,
}, async (t) => {
  const cluster = await startLinuxCluster();
  t.after(() => cluster.down());
  const role = 'agent linux-1';
  const { root: folder } = clusterPaths(cluster.home, cluster.name);
  const spec = readSupervision(folder)!;
  const limited = (command: readonly string[]): string[] => [...command, '--pod-max-pids', '64'];
  const agent = supervisedState(folder, role)!;
  writeSupervision(folder, {
    ...spec,
    processes: spec.processes.map((one) =>
      one.role === role ? { ...one, command: limited(one.command) } : one,
    ),
  });
  // A supervisor knows how it starts an agent from its own start: the server looks for the next one.
  process.kill(readSupervisorState(folder)!.pid, 'SIGKILL');
  process.kill(agent.pid!, 'SIGKILL');
  await eventually(
    () => {
      const next = supervisedState(folder, role);
      assert.ok(next?.pid !== undefined && next.pid !== agent.pid, JSON.stringify(next));
      assert.match(readFileSync(`/proc/${next.pid}/cmdline`, 'utf8'), /--pod-max-pids\0\x36\x34\0/);
    },
    { timeoutMs: 60_000 },
  );
  const forks = 'n=0; while [ $n -lt 200 ]; do echo $n; n=$((n+1)); sleep 600 & done';
  await cluster.kubectl.apply(
    podManifest('bomb', { command: ['sh', '-c', forks] }, { restartPolicy: 'Never' }),
  );
  await eventually(
    async () => {
      const said = await cluster.kubectl.ok(['logs', 'bomb']);
      const last = forksUntilRefused(said);
      assert.ok(last > 32 && last <= 64, said.slice(-200));
    },
    { timeoutMs: 90_000 },
  );
});
