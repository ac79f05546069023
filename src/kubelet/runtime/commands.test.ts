// How many commands of probes and hooks are under way together, of one pod and of those with long answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { aPod } from '../testing/observed-builder.ts';
import { createCommands } from './commands.ts';

const { signal } = new AbortController();

/** A runtime whose commands end when the test says so. */
function runtimeByHand() {
  const clock = new FakeClock();
  const underWay: (() => void)[] = [];
  let answerBytes = 0;
  const commands = createCommands({
    clock,
    runtime: {
      execSync: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        underWay.push(resolve);
        const answer = { exitCode: 0, stdout: Buffer.alloc(answerBytes), stderr: Buffer.alloc(0) };
        return promise.then(() => answer);
      },
    },
  });
  const of = (uid: string, by = signal) => {
    const pod = aPod();
    const command = { containerId: 'c', command: ['x'], timeoutSeconds: 1 };
    return [{ ...command, pod: { ...pod, metadata: { ...pod.metadata, uid } } }, by] as const;
  };
  return {
    clock,
    probe: (uid: string, by?: AbortSignal) => commands.probe(...of(uid, by)),
    hook: (uid: string) => commands.hook(...of(uid)),
    /** How many there are now, once what may begin has begun. */
    async count(): Promise<number> {
      await new Promise(setImmediate);
      return underWay.length;
    },
    async endAll(bytes = 0): Promise<void> {
      answerBytes = bytes;
      for (const end of underWay.splice(0)) end();
      await new Promise(setImmediate);
    },
    answers: (bytes: number) => {
      answerBytes = bytes;
    },
  };
}

test('four probes and sixteen hooks of a pod are under way; those of others do not wait for them', async () => {
  const { probe, hook, count, endAll } = runtimeByHand();
  const probes = Array.from({ length: 10 }, () => probe('a'));
  assert.equal(await count(), 4);
  const hooks = Array.from({ length: 20 }, () => hook('a'));
  assert.equal(await count(), 20);
  const others = [probe('b'), hook('b')];
  assert.equal(await count(), 22);
  await endAll();
  assert.equal(await count(), 8);
  await endAll();
  await endAll();
  assert.equal((await Promise.all([...probes, ...hooks, ...others])).length, 32);
});

test('who waits for a turn that nobody wants any more does not take it', async () => {
  const { probe, count, endAll } = runtimeByHand();
  const first = Array.from({ length: 4 }, () => probe('a'));
  const stop = new AbortController();
  const left = assert.rejects(probe('a', stop.signal), { name: 'AbortError' });
  stop.abort();
  await left;
  await endAll();
  await Promise.all(first);
  assert.equal(await count(), 0);
});

test('of pods whose commands answer at length four are under way on the node, until they were short for ten minutes', async () => {
  const { clock, probe, count, endAll, answers } = runtimeByHand();
  const uids = ['a', 'b', 'c'];
  answers(300 * 1024);
  const long = uids.map((uid) => probe(uid));
  assert.equal(await count(), 3);
  answers(0);
  await endAll();
  await Promise.all(long);
  const next = uids.flatMap((uid) => [probe(uid), probe(uid), probe(uid)]);
  assert.equal(await count(), 4);
  const quiet = probe('quiet');
  assert.equal(await count(), 5);
  await endAll();
  await endAll();
  await endAll();
  await Promise.all([...next, quiet]);
  clock.advance(600_000);
  const later = uids.flatMap((uid) => [probe(uid), probe(uid), probe(uid)]);
  assert.equal(await count(), 9);
  await endAll();
  await Promise.all(later);
});
