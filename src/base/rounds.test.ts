// Who begins when: at once while a round is young, then users in turn, over many rounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rounds } from './rounds.ts';

/** An event loop by hand: what is asked for in one round is done in the next, promises in between. */
function loop() {
  let due: (() => void)[] = [];
  let now = 0;
  const made = (sliceMs?: number): Rounds<string> =>
    new Rounds<string>(
      (run) => due.push(run),
      () => now,
      sliceMs,
    );
  const rounds = made();
  const begun: string[] = [];
  /** A request that takes `ms` as soon as it begins. */
  const ask = (user: string, ms: number, group?: string): void => {
    const work = (): void => {
      begun.push(user);
      now += ms;
    };
    const wait = rounds.begin(user, group);
    if (wait === undefined) work();
    else void wait.then(work);
  };
  /** Runs one round; answers who began in it, and how long it took. */
  const round = async (): Promise<{ readonly begun: string; readonly ms: number }> => {
    const from = begun.length;
    const since = now;
    const runs = due;
    due = [];
    for (const run of runs) {
      run();
      await Promise.resolve();
      await Promise.resolve();
    }
    return { begun: begun.slice(from).join(' '), ms: now - since };
  };
  const spend = (ms: number): void => {
    now += ms;
  };
  return { ask, round, begun, idle: () => due.length === 0, made, spend, now: () => now };
}

test('what fits into a round begins at once, what does not waits for the next one', async () => {
  const { ask, round, begun, idle } = loop();
  for (let i = 0; i < 6; i++) ask('a', 2);
  assert.equal(begun.length, 3, 'the third began before the time was over');
  assert.deepEqual(await round(), { begun: 'a a a', ms: 6 });
  assert.equal(idle(), true);
  ask('a', 2);
  assert.equal(begun.length, 7, 'a new round is young');
});

test('four hundred requests of one user let the one of another pass in the next round, and no round is long', async () => {
  const { ask, round, begun } = loop();
  for (let i = 0; i < 400; i++) ask('tenant', 2);
  ask('reader', 1);
  assert.equal(begun.includes('reader'), false);
  const first = await round();
  assert.match(first.begun, /^(tenant )?reader /);
  assert.ok(first.ms < 7, `${first.ms} ms`);
  for (let rounds = 0; begun.length < 401 && rounds < 400; rounds++) {
    const { ms } = await round();
    assert.ok(ms < 7, `${ms} ms`);
  }
  assert.equal(begun.length, 401);
});

test('who waits is not passed by one of the same user who comes later', async () => {
  const { ask, round } = loop();
  for (let i = 0; i < 20; i++) ask('a', 1);
  ask('b', 1);
  await round();
  ask('a', 1);
  ask('c', 1);
  const { begun } = await round();
  assert.match(begun, /c/);
  assert.doesNotMatch(begun, /^c/);
});

test('a thousand sources of one group have as many turns as the one of another', async () => {
  const { ask, round, begun } = loop();
  for (let i = 0; i < 1000; i++) ask(`a${i}`, 2, 'a');
  for (let i = 0; i < 3; i++) ask('b', 2, 'b');
  for (let i = 0; i < 2; i++) await round();
  assert.deepEqual(begun.slice(3, 9), ['a3', 'b', 'a4', 'b', 'a5', 'b']);
  while (begun.length < 1003) await round();
  assert.equal(new Set(begun).size, 1001);
});

/** Requests wait by connection until it is known who it is, then by user. How long the one of another user takes. */
async function waitBehind(connections: number, others: boolean): Promise<number> {
  const { round, made, spend, now } = loop();
  const [byConnection, byUser] = [made(), made()];
  const done: string[] = [];
  const ask = async (connection: string, user: string, ms: number): Promise<void> => {
    const first = byConnection.begin(connection, 'address');
    if (first !== undefined) await first;
    spend(0.2);
    const second = byUser.begin(user, user, others && first !== undefined);
    if (second !== undefined) await second;
    spend(ms);
    done.push(user);
  };
  for (let i = 0; i < 20; i++) for (let c = 0; c < connections; c++) void ask(`tenant${c}`, 'tenant', 3);
  for (let i = 0; i < 5; i++) await round();
  const since = now();
  void ask('reader', 'reader', 0.2);
  while (!done.includes('reader')) await round();
  return now() - since;
}

test('who has many connections does not have so many turns: what waited for its connection waits for its user', async () => {
  for (const connections of [8, 50]) {
    const ms = await waitBehind(connections, true);
    assert.ok(ms < 50, `${ms} ms behind ${connections} connections`);
  }
  // As it was: behind what each of the connections had asked for.
  assert.ok((await waitBehind(50, false)) > 150);
});
