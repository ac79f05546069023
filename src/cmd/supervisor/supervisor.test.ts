// The supervisor's rules, with a clock that stands still and processes that are promises.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { processText } from './process-text.ts';
import { restartDelayMs } from './restart-delay.ts';
import type { RunningProcess, SupervisedState, Supervision } from './supervision.ts';
import { type Exit, Supervisor, type Watched } from './supervisor.ts';
import { supervisorTurn } from './turn-of.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function machine(alive: readonly number[] = []) {
  const clock = new FakeClock();
  const started: string[] = [];
  const exits = new Map<number, (exit: Exit) => void>();
  let pid = 100;
  let told: readonly SupervisedState[] = [];
  let refusal: Error | undefined;
  const said: string[] = [];
  const paused = new Map<string, string>();
  const killed: number[] = [];
  const asked = new Map<string, () => Promise<boolean>>();
  const watched = (process: RunningProcess): Watched => ({
    ...process,
    exited: new Promise((resolve) => exits.set(process.pid, resolve)),
  });
  const supervisor = new Supervisor({
    clock,
    start: ({ role }) => {
      started.push(role);
      if (refusal) throw refusal;
      pid++;
      return watched({ role, pid, startTicks: `${pid}` });
    },
    ask: (check) => asked.get('path' in check ? check.path : check.socket)!(),
    kill: (process) => {
      killed.push(process.pid);
      exits.get(process.pid)?.({ signal: 'SIGKILL' });
    },
    pausedBy: (role) => paused.get(role),
    adopt: (process) => (alive.includes(process.pid) ? watched(process) : undefined),
    changed: (processes) => {
      told = processes;
    },
    say: (text) => void said.push(text),
  });
  const refuse = (error: Error): void => {
    refusal = error;
  };
  const end = async (exit: Exit): Promise<void> => {
    const current = told[0]?.pid;
    assert.ok(current !== undefined);
    exits.get(current)?.(exit);
    await turn();
  };
  return { clock, supervisor, started, end, told: () => told, paused, killed, asked, refuse, said };
}

const spec = (...roles: string[]): Supervision => ({
  processes: roles.map((role) => ({ role, command: [role], logFile: `/log/${role}` })),
  running: [],
  environment: {},
});

test('a process that ends is started again at once, and after a growing while when it keeps ending', async () => {
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

test('a process that can not be started at all waits longer each time, and says why', async () => {
  const { clock, supervisor, end, told, refuse, said } = machine();
  supervisor.apply(spec('server'), []);
  refuse(new Error('EISDIR: server.log is a folder'));
  await end({ signal: 'SIGKILL' });
  const delays: number[] = [];
  for (let i = 0; i < 12; i++) {
    const delay = told()[0]!.nextStartMs! - clock.now();
    delays.push(delay);
    clock.advance(delay);
  }
  assert.deepEqual(delays, [0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(told()[0]!.lastEnd!.ranMs, 0);
  assert.equal(said.at(-1), "server can't be started: EISDIR: server.log is a folder; again in 60000 ms");
  assert.equal(
    processText(told()[0], false, clock.now()),
    'restarts in 60 s, 13 restarts, last could not be started 0 s ago: EISDIR: server.log is a folder',
  );
});

test('a new supervisor takes over what runs, and starts what ended while there was none', async () => {
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

test('who asks again does not wait for a pause to end; what is no longer named is left alone', async () => {
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

test('a supervisor that ends starts nothing any more', async () => {
  const { clock, supervisor, started, end } = machine();
  supervisor.apply(spec('server'), []);
  supervisor.stop();
  await end({ code: 0 });
  clock.advance(100_000);
  assert.deepEqual(started, ['server']);
});

test('a process that a command keeps stopped is not started until that command says so, or is gone', async () => {
  const { clock, supervisor, started, end, told, paused } = machine();
  supervisor.apply(spec('server', 'agent a'), []);
  paused.set('server', 'porthole restore (pid 9)');
  supervisor.apply(spec('server', 'agent a'), []);
  assert.equal(told()[0]!.pausedBy, 'porthole restore (pid 9)', 'said while it still runs');
  await end({ code: 0 });
  for (let i = 0; i < 100; i++) {
    clock.advance(1_000);
    supervisor.tick();
  }
  supervisor.apply(spec('server', 'agent a'), []);
  assert.deepEqual(started, ['server', 'agent a']);
  assert.equal(told()[0]!.restarts, 0, 'nobody counts this as an accident');
  paused.clear();
  supervisor.tick();
  assert.deepEqual(started, ['server', 'agent a', 'server']);
  assert.equal(told()[0]!.pausedBy, undefined);
});

test('a new supervisor does not start what is kept stopped', () => {
  const { supervisor, started, paused, told } = machine();
  paused.set('server', 'porthole restore (pid 9)');
  supervisor.apply(spec('server'), [{ role: 'server', pid: 7, startTicks: '70', restarts: 2 }]);
  assert.deepEqual(started, []);
  assert.equal(told()[0]!.restarts, 2);
  paused.clear();
  supervisor.tick();
  assert.deepEqual(started, ['server']);
});

const answering = (role: string, extra: object = {}): Supervision => {
  const { processes, ...rest } = spec(role);
  const liveness = { host: 'h', port: 1, path: role, ...extra };
  return { ...rest, processes: processes.map((one) => ({ ...one, liveness })) };
};
/** Seconds of the supervisor's life, each with time for answers. */
async function live({ supervisor, clock }: ReturnType<typeof machine>, seconds: number, each = 1_000) {
  for (let i = 0; i < seconds; i++) {
    clock.advance(each);
    supervisor.tick();
    await turn();
  }
}

test('who does not answer three times in a row is killed and started again; one answer is a new beginning', async () => {
  const m = machine();
  const never = (): Promise<boolean> => new Promise(() => {});
  const waiting: (() => void)[] = [];
  const standsStill = (): Promise<boolean> => new Promise((resolve) => waiting.push(() => resolve(true)));
  m.asked.set('server', () => Promise.resolve(true));
  m.supervisor.apply(answering('server'), []);
  await live(m, 60);
  assert.equal(m.told()[0]!.answered, true);
  for (let i = 0; i < 20; i++) {
    m.asked.set('server', standsStill);
    await live(m, 22); // most of what is allowed
    m.asked.set('server', () => Promise.resolve(true));
    for (const answer of waiting.splice(0)) answer();
    await live(m, 22);
  }
  assert.deepEqual(m.killed, []);
  m.asked.set('server', never);
  await live(m, 25);
  assert.match(processText(m.told()[0], true, 0), /^pid 101, does not answer$/);
  assert.deepEqual(m.killed, []);
  await live(m, 20);
  assert.deepEqual(m.killed, [101]);
  m.clock.advance(0);
  assert.deepEqual(m.started, ['server', 'server'], 'at once: it was well for long');
  assert.match(
    processText(m.told()[0], true, m.clock.now()),
    /^pid 102, does not answer yet, 1 restart, last killed because it did not answer \d+ s ago$/,
  );
});

test('a wrong answer counts as none; a refused connection of a process that starts does not', async () => {
  const m = machine();
  m.asked.set('server', () => Promise.reject(new Error('ECONNREFUSED')));
  m.supervisor.apply(answering('server'), []);
  await live(m, 3_000);
  assert.deepEqual(m.killed, []);
  assert.match(processText(m.told()[0], true, 0), /^pid 101, does not answer yet$/);
  m.asked.set('server', () => Promise.resolve(true));
  await live(m, 11);
  m.asked.set('server', () => Promise.resolve(false));
  await live(m, 31);
  assert.deepEqual(m.killed, [101]);
});

test('a start that never ends is ended, where that has a limit', async () => {
  const m = machine();
  m.asked.set('server', () => Promise.resolve(false));
  m.supervisor.apply(answering('server', { startSeconds: 600 }), []);
  await live(m, 599);
  assert.deepEqual(m.killed, []);
  await live(m, 1);
  assert.deepEqual(m.killed, [101]);
});

test('a machine that slept for a night has aged nobody', async () => {
  const m = machine();
  m.asked.set('server', () => Promise.resolve(true));
  m.supervisor.apply(answering('server'), []);
  await live(m, 30);
  // An answer was on its way when it fell asleep, and comes after it woke up.
  let answer = (): void => {};
  m.asked.set('server', () => new Promise((resolve) => (answer = () => resolve(true))));
  await live(m, 12);
  for (let night = 0; night < 50; night++) {
    await live(m, 1, 8 * 3_600_000);
    answer();
    await live(m, 3);
    answer();
  }
  assert.deepEqual(m.killed, []);
});

test('a process that is taken over is known to have answered', async () => {
  const m = machine([7]);
  m.asked.set('server', () => new Promise(() => {}));
  m.supervisor.apply(answering('server'), [
    { role: 'server', pid: 7, startTicks: '70', restarts: 0, answered: true },
  ]);
  await live(m, 45);
  assert.deepEqual(m.killed, [7]);
});

test('status tells of restarts and of the last end', () => {
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
      { role: 's', restarts: 0, pausedBy: 'porthole restore (pid 9)' },
      false,
      'stopped for porthole restore (pid 9)',
    ],
    [
      { role: 's', restarts: 7, nextStartMs: 104_000, lastEnd: { code: 1, atMs: 99_000, ranMs: 1 } },
      false,
      'restarts in 4 s, 7 restarts, last ended with exit code 1 1 s ago',
    ],
  ];
  for (const [state, alive, text] of rows) assert.equal(processText(state, alive, 100_000), text);
});

test('one process after the other misses its supervisor, those that live in the order of their names', () => {
  const processes = [1, 2, 3].map((pid) => ({ role: `agent ${pid}`, pid, startTicks: '0' }));
  const turns = (dead: readonly number[]): number[] =>
    [1, 2, 3, 4].map((pid) => supervisorTurn(processes, pid, (one) => !dead.includes(one.pid)));
  assert.deepEqual(turns([]), [0, 1, 2, 3]);
  assert.deepEqual(turns([1]), [0, 0, 1, 2]);
  assert.deepEqual(turns([1, 2]), [0, 0, 0, 1]);
});
