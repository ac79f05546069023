// Whatever is killed of a running cluster comes back by itself, and pods live on: server, agents, containerd, supervisor.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, statSync } from 'node:fs';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { isAlive } from '../../src/cmd/cluster/own-processes.ts';
import { livingSupervisor, supervisorLog } from '../../src/cmd/supervisor/supervise-cluster.ts';
import { readSupervisorState, supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { runningPid } from '../../src/kubelet/containerd/containerd-process.ts';
import { fabricPortName } from '../../src/network/fabric-plan.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { commandLines } from '../harness/command-lines.ts';
import { eventually } from '../harness/eventually.ts';
import { limit, podSpec, untilTerm } from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const nodes = ['linux-1', 'linux-2'];
const agents = nodes.map((node) => `agent ${node}`);
const rounds = 3;
/** For what takes as long as a node may be silent, or a process hang: some fifty seconds on a quiet machine. */
const longer = { timeout: 2 * limit.timeout };
const patience = { timeoutMs: 120_000, everyMs: 25 };

let cluster: TestCluster;
let root: string;
const kills = new Map<string, number>();
const backMs: { readonly what: string; readonly ms: number }[] = [];
/** What is promised; on a machine that others load a kill may take longer, never so long as `lateMs`. */
const promisedMs = 3_000;
const lateMs = 30_000;

before(async () => {
  // Longer than the ten seconds after which a lease is renewed.
  cluster = await startTestCluster({ name: 'alive', linux: nodes.length, nodeMonitorGracePeriod: '15s' });
  root = clusterPaths(cluster.home, 'alive').root;
  const { code, stderr } = await cluster.porthole(['image', 'build-samples', '--name', 'alive']);
  assert.equal(code, 0, stderr);
  await cluster.kubectl.apply(
    JSON.stringify({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'steady' },
      spec: {
        selector: { matchLabels: { app: 'steady' } },
        template: { metadata: { labels: { app: 'steady' } }, spec: podSpec({ command: untilTerm }) },
      },
    }),
  );
  await cluster.kubectl.ok(['rollout', 'status', 'daemonset/steady', '--timeout=120s']);
}, limit);
after(() => cluster?.down(), limit);

const pidOf = (role: string): number => {
  const pid = role === 'supervisor' ? readSupervisorState(root)?.pid : supervisedState(root, role)?.pid;
  assert.ok(pid !== undefined, `${role} has no process`);
  return pid;
};
const deps = { host: createLinuxHost(), clock: systemClock, log: silentLogger };
const containerdOf = async (node: string): Promise<number> => {
  const layout = nodeLayout(clusterPaths(cluster.home, 'alive').node(node));
  const pid = await runningPid(deps, { dir: layout.containerdDir });
  assert.ok(pid !== undefined, `${node} has no containerd`);
  return pid;
};
const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);
function kill(what: string, pid: number): void {
  process.kill(pid, 'SIGKILL');
  kills.set(what, (kills.get(what) ?? 0) + 1);
}
/** Since `from`, and where the time went. */
function measured(t: TestContext, what: string, from: number, started: number): void {
  const ms = performance.now() - from;
  backMs.push({ what, ms });
  t.diagnostic(
    `${what} killed: another one runs after ${(started - from).toFixed(0)} ms, answers after ${ms.toFixed(0)} ms`,
  );
}

/** Another process than before runs, and answers. */
async function backAgain(role: string, before: number): Promise<void> {
  await eventually(() => {
    const state = supervisedState(root, role);
    assert.ok(state?.pid !== undefined && state.pid !== before);
    assert.ok(isAlive({ role, pid: state.pid, startTicks: state.startTicks! }));
  }, patience);
}
const supervisorAgain = (before: number): Promise<void> =>
  eventually(() => {
    const now = livingSupervisor(root)?.pid;
    assert.ok(now !== undefined && now !== before);
  }, patience);
const serverAnswers = (): Promise<void> =>
  eventually(async () => {
    assert.equal(await cluster.kubectl.ok(['get', '--raw', '/readyz']), 'ok');
  }, patience);
/** Through its kubelet and its runtime. */
const nodeAnswers = (node: string): Promise<void> =>
  eventually(async () => {
    assert.equal(await cluster.kubectl.ok(['get', '--raw', `/api/v1/nodes/${node}/proxy/healthz`]), 'ok');
  }, patience);

/** Nodes side by side, each in its own time. */
async function onEachNode(round: (node: string) => Promise<void>): Promise<void> {
  const lane = async (node: string): Promise<void> => {
    for (let i = 0; i < rounds; i++) await round(node);
  };
  await Promise.all(nodes.map(lane));
}

interface Life {
  readonly pod: string;
  readonly restarts: number;
  readonly started: string;
}
async function lives(): Promise<Life[]> {
  const { items } = await cluster.kubectl.json<{
    items: {
      metadata: { uid: string };
      status: { containerStatuses: { restartCount: number; state: { running?: { startedAt: string } } }[] };
    }[];
  }>(['get', 'pods', '-l', 'app=steady']);
  return items
    .map(({ metadata, status }) => ({
      pod: metadata.uid,
      restarts: status.containerStatuses[0]!.restartCount,
      started: status.containerStatuses[0]!.state.running?.startedAt ?? 'not running',
    }))
    .sort((a, b) => a.pod.localeCompare(b.pod));
}

async function standStillThenHang(stopped: readonly string[], node: string, t: TestContext): Promise<void> {
  const pids = stopped.map(pidOf);
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of pids) process.kill(pid, name);
  };
  // The supervisor knows that they have answered.
  await eventually(() => {
    for (const role of stopped) assert.equal(supervisedState(root, role)?.answered, true, role);
  }, patience);
  signal('SIGSTOP');
  await delay(14_000);
  signal('SIGCONT');
  await serverAnswers();
  await nodeAnswers(node);
  assert.deepEqual(stopped.map(pidOf), pids);
  const from = performance.now();
  signal('SIGSTOP');
  await eventually(async () => {
    const { stdout } = await cluster.porthole(['status', '--name', 'alive']);
    assert.match(stdout, new RegExp(`^server: pid ${pids[0]}, does not answer`, 'm'));
  }, patience);
  await Promise.all(stopped.map((role, i) => backAgain(role, pids[i]!)));
  await serverAnswers();
  await nodeAnswers(node);
  t.diagnostic(
    `hung server and agent: stopped, noticed, killed and back after ${((performance.now() - from) / 1000).toFixed(1)} s`,
  );
  for (const role of stopped) assert.equal(supervisedState(root, role)?.lastEnd?.hung, true, role);
  const { stdout } = await cluster.porthole(['status', '--name', 'alive']);
  assert.match(stdout, /^server: .*last killed because it did not answer \d+ s ago$/m);
}

async function link(node: string, way: 'up' | 'down'): Promise<void> {
  const { id } = readClusterState(clusterPaths(cluster.home, 'alive'))!;
  const { code, stderr } = await linuxProcesses.run('ip', ['link', 'set', fabricPortName(id, node), way]);
  assert.equal(code, 0, stderr.toString());
}
async function ready(node: string): Promise<string | undefined> {
  const { status } = await cluster.kubectl.json<{
    status: { conditions: { type: string; status: string }[] };
  }>(['get', 'node', node]);
  return status.conditions.find(({ type }) => type === 'Ready')?.status;
}

describe('what is killed comes back', () => {
  let born: Life[];
  before(async () => {
    born = await lives();
    assert.equal(born.length, nodes.length);
  });

  test('the server, again and again, without anyone typing', limit, async (t) => {
    for (let i = 0; i < rounds; i++) {
      const pid = pidOf('server');
      const from = performance.now();
      kill('server', pid);
      await backAgain('server', pid);
      const started = performance.now();
      await serverAnswers();
      measured(t, 'server', from, started);
    }
  });

  test('the agents', limit, async (t) => {
    await onEachNode(async (node) => {
      const pid = pidOf(`agent ${node}`);
      const from = performance.now();
      kill('agent', pid);
      await backAgain(`agent ${node}`, pid);
      const started = performance.now();
      await nodeAnswers(node);
      measured(t, `agent ${node}`, from, started);
    });
  });

  test('each containerd', limit, async () => {
    await onEachNode(async (node) => {
      const pid = await containerdOf(node);
      kill('containerd', pid);
      await eventually(async () => assert.notEqual(await containerdOf(node), pid), patience);
      await nodeAnswers(node);
    });
  });

  test(
    'the supervisor: its processes live on, and start it again without anyone typing',
    limit,
    async (t) => {
      for (let i = 0; i < rounds; i++) {
        const supervised = ['server', ...agents].map(pidOf);
        const pid = pidOf('supervisor');
        const from = performance.now();
        kill('supervisor', pid);
        await supervisorAgain(pid);
        t.diagnostic(`supervisor: back after ${(performance.now() - from).toFixed(0)} ms`);
        assert.deepEqual(['server', ...agents].map(pidOf), supervised, 'taken over, not started again');
      }
      // What it has taken over it keeps running, too.
      const pid = pidOf('server');
      kill('server', pid);
      await backAgain('server', pid);
      await serverAnswers();
    },
  );

  for (const others of [['server'], agents, ['server', agents[0]!]])
    test(
      `the supervisor and ${others.join(', ')} at one moment: what lives brings them back`,
      limit,
      async (t) => {
        for (let i = 0; i < rounds; i++) {
          const before = ['supervisor', ...others].map((role) => [role, pidOf(role)] as const);
          const from = performance.now();
          for (const [role, pid] of before) kill(role.split(' ')[0]!, pid);
          for (const [role, pid] of before)
            await (role === 'supervisor' ? supervisorAgain(pid) : backAgain(role, pid));
          t.diagnostic(
            `supervisor, ${others.join(', ')}: started again after ${(performance.now() - from).toFixed(0)} ms`,
          );
          await serverAnswers();
          for (const node of nodes) await nodeAnswers(node);
          t.diagnostic(`and answer after ${(performance.now() - from).toFixed(0)} ms`);
        }
      },
    );

  test('all of them at once: up repairs the cluster', limit, async () => {
    for (let i = 0; i < rounds; i++) {
      const containerds = await Promise.all(nodes.map(containerdOf));
      kill('supervisor', pidOf('supervisor'));
      for (const role of ['server', ...agents]) kill(role.split(' ')[0]!, pidOf(role));
      for (const pid of containerds) kill('containerd', pid);
      await cluster.up();
      await serverAnswers();
      for (const node of nodes) await nodeAnswers(node);
    }
  });

  test(
    'a server and an agent that stand still for a while are left alone, those that hang are killed; ' +
      'a node that is cut off meanwhile keeps its agent, and is Ready when it is back; ' +
      'its containerd, which hangs, is killed and started again',
    longer,
    async (t) => {
      const [hanging, cutOff] = nodes as [string, string];
      const role = `agent ${cutOff}`;
      await eventually(() => assert.equal(supervisedState(root, role)?.answered, true), patience);
      const before = pidOf(role);
      const hung = await containerdOf(cutOff);
      process.kill(hung, 'SIGSTOP');
      await link(cutOff, 'down');
      try {
        await standStillThenHang(['server', `agent ${hanging}`], hanging, t);
        await eventually(async () => assert.equal(await ready(cutOff), 'Unknown'), patience);
        // For longer than the others, which hung, have lived.
        assert.equal(pidOf(role), before);
        assert.equal(supervisedState(root, role)?.silent, undefined);
        await eventually(async () => assert.notEqual(await containerdOf(cutOff), hung), patience);
        assert.equal(isRunning(hung), false);
        const { stdout } = await cluster.porthole(['logs', cutOff, '--name', 'alive']);
        assert.match(stdout, /containerd did not answer 3 times for 10 s; killing it/);
      } finally {
        await link(cutOff, 'up');
      }
      await eventually(async () => assert.equal(await ready(cutOff), 'True'), patience);
      assert.equal(pidOf(role), before);
    },
  );

  test(
    'a second supervisor says why it ends, whoever holds a name that could be guessed',
    limit,
    async () => {
      const before = pidOf('supervisor');
      const second = await linuxProcesses.run(process.execPath, [
        fileURLToPath(new URL('../../dist/supervisor.mjs', import.meta.url)),
        root,
      ]);
      assert.equal(second.code, 0);
      assert.match(
        second.stderr.toString(),
        new RegExp(`another supervisor has this cluster \\(pid ${before}\\); this one ends`),
      );
      assert.equal(pidOf('supervisor'), before);
    },
  );

  test('pods have lived through all of it', limit, async (t) => {
    await eventually(async () => assert.deepEqual(await lives(), born), patience);
    const counts = [...kills].map(([what, count]) => `${what} ${count}`).join(', ');
    const times = backMs.map(({ ms }) => ms).toSorted((one, other) => one - other);
    const worst = times.at(-1)!;
    const late = backMs.filter(({ ms }) => ms > promisedMs).map(({ what }) => what);
    const said =
      `killed: ${counts}; ${times.length} kills of the server or an agent: answers again after ` +
      `${times[times.length >> 1]!.toFixed(0)} ms (median), ${worst.toFixed(0)} ms (worst), ` +
      `${late.length} later than ${promisedMs} ms (${late.join(', ') || 'none'})`;
    t.diagnostic(said);
    assert.ok(worst < lateMs, said);
    assert.ok([...kills.values()].reduce((sum, n) => sum + n, 0) >= rounds * 9);
  });

  test('status tells of a process that does not stay, and logs show why', limit, async () => {
    await eventually(async () => {
      const { stdout } = await cluster.porthole(['status', '--name', 'alive']);
      assert.match(
        stdout,
        /^server: pid \d+, \d+ restarts?, last (killed by SIGKILL|killed because it did not answer|ended) \d+ (s|min) ago$/m,
      );
    }, patience);
    const said = await cluster.porthole(['logs', 'supervisor', '--name', 'alive']);
    assert.match(said.stdout, /server ended by SIGKILL after \d+ ms; again in \d+ ms/);
    const node = await cluster.porthole(['logs', 'linux-1', '--name', 'alive', '--tail', '50']);
    assert.match(node.stdout, /agent runs/);
  });

  test('the supervisor keeps its own log small, too', limit, async () => {
    const log = supervisorLog(root);
    appendFileSync(log, `${'x'.repeat(1023)}\n`.repeat(11 << 10));
    await eventually(() => {
      assert.ok(existsSync(`${log}.1`));
      assert.ok(statSync(log).size < 1 << 20);
    }, patience);
  });
});

test('down wins: whatever is killed before it, nothing comes back after it', limit, async (t) => {
  const home = scratchDirectory('ending');
  t.after(() => home.remove());
  const killings = [['supervisor'], ['supervisor', 'server'], ['server', 'supervisor', 'agent linux-1']];
  const killAndEnd = async (killed: readonly string[], i: number): Promise<void> => {
    const name = `ending-${i}`;
    const ending = await startTestCluster({ name, home: home.path, linux: 2, runtime: 'simulated' });
    const paths = clusterPaths(ending.home, name);
    const pids = killed.map((role) =>
      role === 'supervisor' ? readSupervisorState(paths.root)!.pid : supervisedState(paths.root, role)!.pid!,
    );
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const { code, stderr } = await ending.porthole(['down', '--name', name]);
    assert.equal(code, 0, stderr);
    await eventually(async () => {
      const left = commandLines();
      assert.deepEqual(
        left.filter(({ args }) => args.some((arg) => arg.startsWith(paths.root))).map(({ args }) => args),
        [],
      );
      assert.equal(existsSync(paths.root), false);
    }, patience);
  };
  await Promise.all(killings.map(killAndEnd));
});

test(
  'with nothing of a cluster left alive, status starts its supervisor again, and that the rest',
  limit,
  async (t) => {
    const home = scratchDirectory('asleep');
    const asleep = await startTestCluster({
      name: 'asleep',
      home: home.path,
      linux: 1,
      runtime: 'simulated',
    });
    t.after(async () => {
      await asleep.down();
      home.remove();
    });
    const { root } = clusterPaths(asleep.home, 'asleep');
    const supervisor = readSupervisorState(root)!;
    const all = [supervisor, ...supervisor.processes].map(({ pid }) => pid!);
    for (const pid of all) process.kill(pid, 'SIGKILL');
    const { stdout } = await asleep.porthole(['status', '--name', 'asleep']);
    assert.match(stdout, /^supervisor: pid \d+, started again: it was gone$/m);
    await eventually(async () => {
      assert.equal(await asleep.kubectl.ok(['get', '--raw', '/readyz']), 'ok');
    }, patience);
  },
);
