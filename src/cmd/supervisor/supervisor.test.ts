// The supervisor's rules, with a clock that stands still and processes that are promises.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { processText } from './process-text.ts';
import { restartDelayMs } from './restart-delay.ts';
import type { RunningProcess, SupervisedState, Supervision } from './supervision.ts';
import { type Exit, Supervisor, type Watched } from './supervisor.ts';
import { turnOf } from './turn-of.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function machine(alive: readonly number[] = []) {
  const clock = new FakeClock();
  const started: string[] = [];
  const exits = new Map<number, (exit: Exit) => void>();
  let pid = 100;
  let told: readonly SupervisedState[] = [];
  const watched = (process: RunningProcess): Watched => ({
    ...process,
    exited: new Promise((resolve) => exits.set(process.pid, resolve)),
  });
  const supervisor = new Supervisor({
    clock,
    start: ({ role }) => {
      started.push(role);
      pid++;
      return watched({ role, pid, startTicks: `${pid}` });
    },
    adopt: (process) => (alive.includes(process.pid) ? watched(process) : undefined),
    changed: (processes) => {
      told = processes;
    },
    say: () => {},
  });
  const end = async (exit: Exit): Promise<void> => {
    const current = told[0]?.pid;
    assert.ok(current !== undefined);
    exits.get(current)?.(exit);
    await turn();
  };
  return { clock, supervisor, started, end, told: () => told };
}

const spec = (...roles: string[]): Supervision => ({
  processes: roles.map((role) => ({ role, command: [role], logFile: `/log/${role}` })),
  running: [],
  environment: {},
});

test('R6: a process that ends is started again at once, and after a growing while when it keeps ending', async () => {
  const { clock, supervisor, started, end, told } = machine();
  supervisor.apply(spec('server'), []);
  const delays: number[] = [];
  for (let i = 0; i < 12; i++) {
    await end({ signal: 'SIGKILL' });
    const delay = told()[0]!.nextStartMs! - clock.now();
    delays.push(delay);
    const before = started.length;
    if (delay > 0) {
      clock.advance(delay - 1);
      assert.equal(started.length, before, 'not before its time');
    }
    clock.advance(delay === 0 ? 0 : 1);
    assert.equal(started.length, before + 1);
  }
  assert.deepEqual(delays, [0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(told()[0]!.restarts, 12);
  clock.advance(10_000);
  await end({ code: 1 });
  assert.equal(told()[0]!.nextStartMs, clock.now(), 'a healthy while is a new beginning');
  assert.equal(restartDelayMs(1), 0);
});

test('R6: a new supervisor takes over what runs, and starts what ended while there was none', async () => {
  const before: SupervisedState[] = [
    { role: 'server', pid: 7, startTicks: '70', restarts: 2 },
    { role: 'agent a', pid: 8, startTicks: '80', restarts: 0 },
  ];
  const { clock, supervisor, started, end, told } = machine([7]);
  supervisor.apply(spec('server', 'agent a'), before);
  assert.deepEqual(started, ['agent a']);
  assert.deepEqual(
    told().map(({ role, pid, restarts }) => ({ role, pid, restarts })),
    [
      { role: 'server', pid: 7, restarts: 2 },
      { role: 'agent a', pid: 101, restarts: 1 },
    ],
  );
  await end({});
  clock.advance(0);
  assert.deepEqual(started, ['agent a', 'server']);
});

test('R6: who asks again does not wait for a pause to end; what is no longer named is left alone', async () => {
  const { clock, supervisor, started, end } = machine();
  supervisor.apply(spec('server', 'agent a'), []);
  await end({ code: 1 });
  clock.advance(0);
  await end({ code: 1 });
  const before = started.length;
  supervisor.apply(spec('server'), []);
  assert.deepEqual(started.slice(before), ['server']);
  clock.advance(100_000);
  assert.equal(started.length, before + 1);
});

test('R6: a supervisor that ends starts nothing any more', async () => {
  const { clock, supervisor, started, end } = machine();
  supervisor.apply(spec('server'), []);
  supervisor.stop();
  await end({ code: 0 });
  clock.advance(100_000);
  assert.deepEqual(started, ['server']);
});

test('R6: status tells of restarts and of the last end', () => {
  const rows: readonly (readonly [SupervisedState | undefined, boolean, string])[] = [
    [undefined, false, 'not running'],
    [{ role: 's', pid: 5, startTicks: '1', restarts: 0 }, true, 'pid 5'],
    [
      {
        role: 's',
        pid: 5,
        startTicks: '1',
        restarts: 1,
        lastEnd: { signal: 'SIGKILL', atMs: 92_000, ranMs: 1 },
      },
      true,
      'pid 5, 1 restart, last killed by SIGKILL 8 s ago',
    ],
    [
      { role: 's', restarts: 7, nextStartMs: 104_000, lastEnd: { code: 1, atMs: 99_000, ranMs: 1 } },
      false,
      'restarts in 4 s, 7 restarts, last ended with exit code 1 1 s ago',
    ],
  ];
  for (const [state, alive, text] of rows) assert.equal(processText(state, alive, 100_000), text);
});

test('R6: one process after the other misses its supervisor, those that live in the order of their names', () => {
  const processes = [1, 2, 3].map((pid) => ({ role: `agent ${pid}`, pid, startTicks: '0' }));
  const turns = (dead: readonly number[]): number[] =>
    [1, 2, 3, 4].map((pid) => turnOf(processes, pid, (one) => !dead.includes(one.pid)));
  assert.deepEqual(turns([]), [0, 1, 2, 3]);
  assert.deepEqual(turns([1]), [0, 0, 1, 2]);
  assert.deepEqual(turns([1, 2]), [0, 0, 0, 1]);
});
