// Turns are taken one at a time, in order, with other work between them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places, Slice, Turns } from './turns.ts';

function byHand() {
  const queue: (() => void)[] = [];
  return {
    turns: new Turns((run) => queue.push(run)),
    /** One round of the loop: what was due when it began. */
    async round(): Promise<number> {
      const due = queue.splice(0);
      for (const run of due) run();
      await Promise.resolve();
      return due.length;
    },
  };
}

test('one piece of work a round, in the order in which it was asked for', async () => {
  const { turns, round } = byHand();
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let i = 0; i < 2; i++) {
      await turns.take();
      done.push(name + i);
    }
  };
  void work('a');
  void work('b');
  const seen: string[] = [];
  while ((await round()) > 0) seen.push(done.join());
  assert.deepEqual(seen, ['a0', 'a0,b0', 'a0,b0,a1', 'a0,b0,a1,b1']);
  assert.equal(turns.length, 0);
});

test('a slice lasts as long as it was said, and begins anew with each turn', async () => {
  const { turns, round } = byHand();
  let now = 0;
  const slice = new Slice(turns, () => now, 5);
  now = 4;
  assert.equal(slice.over, false);
  now = 5;
  assert.equal(slice.over, true);
  const next = slice.next();
  now = 100;
  await round();
  await next;
  assert.equal(slice.over, false);
  now = 105;
  assert.equal(slice.over, true);
});

test('so many have a place, the others wait in order, and a place is given back once', async () => {
  const places = new Places(2);
  const order: string[] = [];
  const take = async (name: string): Promise<() => void> => {
    const leave = await places.take();
    order.push(name);
    return leave;
  };
  const [a, b] = [await take('a'), await take('b')];
  const [c, d] = [take('c'), take('d')];
  await Promise.resolve();
  assert.equal(order.join(), 'a,b');
  a();
  a();
  await c;
  assert.equal(order.join(), 'a,b,c');
  b();
  (await c)();
  (await d)();
  assert.equal((await take('e')) !== undefined && order.join(), 'a,b,c,d,e');
});

test('no more than so many have a place; the others come in order, but those who left', async () => {
  const places = new Places(2);
  const { signal } = new AbortController();
  const leaving = new AbortController();
  const first = await places.take(signal);
  const second = await places.take(signal);
  const order: string[] = [];
  const waiting = (name: string, by: AbortSignal): Promise<() => void> =>
    places.take(by).then((leave) => {
      order.push(name);
      return leave;
    });
  const third = waiting('third', signal);
  const left = assert.rejects(waiting('left', leaving.signal), { name: 'AbortError' });
  const fourth = waiting('fourth', signal);
  leaving.abort();
  await left;
  assert.deepEqual(order, []);
  first();
  const leaveThird = await third;
  assert.deepEqual(order, ['third']);
  second();
  const leaveFourth = await fourth;
  assert.equal(places.isIdle, false);
  leaveThird();
  leaveFourth();
  assert.equal(places.isIdle, true);
  await assert.rejects(places.take(leaving.signal), { name: 'AbortError' });
});
