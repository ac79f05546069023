// The supervisor as a process: what is done to its two files does not take a cluster's processes from it, nor it from the commands.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { endProcesses, isAlive } from '../../src/cmd/cluster/own-processes.ts';
import { runningSupervisors } from '../../src/cmd/supervisor/running-supervisors.ts';
import {
  endSupervisor,
  livingSupervisor,
  prepareSupervision,
  repairSupervisor,
  superviseCluster,
  supervisorLog,
} from '../../src/cmd/supervisor/supervise-cluster.ts';
import {
  removeSupervision,
  type SupervisedProcess,
  supervisedProcesses,
  supervisedState,
} from '../../src/cmd/supervisor/supervision.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';

const limit = { timeout: 120_000 };

/** As soon as `look` does not throw. */
async function until(look: () => void | Promise<void>): Promise<void> {
  for (const end = performance.now() + 60_000; ; await delay(20))
    try {
      await look();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
}

async function supervised(
  t: TestContext,
  before: (root: string) => Promise<void> = async () => undefined,
): Promise<{ root: string; work: SupervisedProcess[] }> {
  const home = await mkdtemp(join(tmpdir(), 'supervisor-'));
  const root = join(home, 'clusters/x');
  t.after(async () => {
    const running = supervisedProcesses(root) ?? [];
    await endSupervisor(root, 5_000);
    await endProcesses([...running, ...(supervisedProcesses(root) ?? [])], 5_000);
    await rm(home, { recursive: true, force: true });
  });
  const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
  const work = [{ role: 'work', command, logFile: join(root, 'logs/work.log') }];
  await before(root);
  await superviseCluster(linuxProcesses, root, work, []);
  await until(() => assert.ok(supervisedState(root, 'work')?.pid));
  return { root, work };
}
const pids = async (root: string): Promise<number[]> =>
  (await runningSupervisors(linuxFiles, root)).map(({ pid }) => pid);

test(
  'a state file that is empty, gone or another’s is written again by the supervisor, and no other one is started',
  limit,
  async (t) => {
    const { root } = await supervised(t);
    const file = join(root, 'supervisor.json');
    const before = readFileSync(file, 'utf8');
    const supervisor = livingSupervisor(root)!.pid;
    const stale = before.replace(/"pid": \d+/, '"pid": 1');
    for (const damage of ['', '{"pid":', stale, before.replace('"work"', '"other"'), undefined]) {
      if (damage === undefined) rmSync(file);
      else writeFileSync(file, damage);
      assert.equal(await repairSupervisor(linuxProcesses, root), false, 'nothing had to be started');
      await until(() => assert.equal(readFileSync(file, 'utf8'), before));
      assert.deepEqual(await pids(root), [supervisor]);
    }
    assert.doesNotMatch(readFileSync(supervisorLog(root), 'utf8'), /another supervisor/);
  },
);

test(
  'with what it was told cut it supervises on and says so once; its next work repairs it at once',
  limit,
  async (t) => {
    const { root, work } = await supervised(t);
    truncateSync(join(root, 'supervision.json'), 20);
    const first = supervisedState(root, 'work')!;
    const log = supervisorLog(root);
    writeFileSync(log, `${'x'.repeat(1023)}\n`.repeat(11 << 10), { flag: 'a' });
    process.kill(first.pid!, 'SIGKILL');
    await until(() => {
      const now = supervisedState(root, 'work');
      assert.ok(now?.pid !== undefined && now.pid !== first.pid);
    });
    // Emptied last: before that its copy may be half there.
    await until(() => assert.ok(statSync(log).size < 1 << 20, 'its log is rotated'));
    const said = readFileSync(`${log}.1`, 'utf8') + readFileSync(log, 'utf8');
    assert.equal(said.match(/supervision\.json is damaged/g)?.length, 1);
    assert.doesNotMatch(said, /^ +at /m, 'no stacks');
    const before = supervisedState(root, 'work')!;
    await superviseCluster(linuxProcesses, root, work, []);
    await until(() => assert.match(readFileSync(log, 'utf8'), /what to supervise: that works again/));
    assert.deepEqual(supervisedState(root, 'work'), before);
  },
);

test(
  'what it was told, removed by somebody, is written again; removed by a `down`, or with its folder, it ends',
  limit,
  async (t) => {
    const { root } = await supervised(t);
    const file = join(root, 'supervision.json');
    const before = readFileSync(file, 'utf8');
    const [supervisor, first] = [livingSupervisor(root)!, supervisedState(root, 'work')!];
    rmSync(file);
    process.kill(first.pid!, 'SIGKILL');
    await until(() => assert.equal(readFileSync(file, 'utf8'), before));
    await until(() => assert.notEqual(supervisedState(root, 'work')?.pid ?? first.pid, first.pid));
    assert.equal(livingSupervisor(root)?.pid, supervisor.pid);
    const log = (): string => readFileSync(supervisorLog(root), 'utf8');
    assert.match(log(), /what to supervise was removed, and no `porthole down` did so; written again/);

    removeSupervision(root); // as the first step of `down`, which is then killed
    await until(async () => assert.deepEqual(await pids(root), []));
    assert.ok(!existsSync(file));
    assert.match(log(), /no more to be supervised: it is being ended, or its folder is gone/);
    const work = supervisedProcesses(root)!;
    assert.ok(work.length === 1 && work.every(isAlive), 'what it supervised goes on');
    await endProcesses(work, 5_000);
  },
);

test('without its folder a supervisor ends, and makes none', limit, async (t) => {
  const { root } = await supervised(t);
  const work = supervisedProcesses(root)!;
  rmSync(root, { recursive: true, maxRetries: 5 });
  await until(async () => assert.deepEqual(await pids(root), []));
  assert.ok(!existsSync(root));
  await endProcesses(work, 5_000);
});

test(
  'a supervisor that starts before it has work takes what it is told, and is not started twice',
  limit,
  async (t) => {
    const { root } = await supervised(t, async (root) =>
      assert.equal(await prepareSupervision(linuxProcesses, root), true),
    );
    assert.equal((await pids(root)).length, 1);
    assert.doesNotMatch(readFileSync(supervisorLog(root), 'utf8'), /another supervisor/);
    const told = readFileSync(join(root, 'supervision.json'), 'utf8');
    assert.equal(await prepareSupervision(linuxProcesses, root), false);
    assert.equal(readFileSync(join(root, 'supervision.json'), 'utf8'), told, 'what has work keeps it');
  },
);

test(
  'a supervisor that cannot write its state supervises all the same, and down finds it',
  limit,
  async (t) => {
    const { root } = await supervised(t);
    const supervisor = livingSupervisor(root)!;
    const first = supervisedState(root, 'work')!;
    // As on a full disk: nothing can be written in its place.
    mkdirSync(join(root, 'supervisor.json.new'));
    process.kill(supervisor.pid, 'SIGKILL');
    process.kill(first.pid!, 'SIGKILL');
    await until(() => assert.equal(livingSupervisor(root), undefined));
    const repaired = repairSupervisor(linuxProcesses, root);
    await until(async () => assert.equal((await pids(root)).length, 1));
    await until(() =>
      assert.match(
        readFileSync(supervisorLog(root), 'utf8'),
        /cannot be written: EISDIR[\s\S]*work started, pid \d+/,
      ),
    );
    rmSync(join(root, 'supervisor.json.new'), { recursive: true });
    assert.equal(await repaired, true);
    const { pid, startTicks } = supervisedState(root, 'work')!;
    assert.ok(isAlive({ role: 'work', pid: pid!, startTicks: startTicks! }));
    // Its file is damaged when it is to be ended.
    rmSync(join(root, 'supervisor.json'));
    await endSupervisor(root, 5_000);
    assert.deepEqual(await pids(root), []);
    await endProcesses([{ role: 'work', pid: pid!, startTicks: startTicks! }], 5_000);
  },
);
