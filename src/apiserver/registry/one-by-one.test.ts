// Changes of one object come one after the other, unless one takes too long; those of others do not wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { OneByOne } from './one-by-one.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function line() {
  const clock = new FakeClock();
  const changes = new OneByOne(clock);
  const order: string[] = [];
  const leave = new Map<string, () => void>();
  const enter = (who: string, key: string): void => {
    void changes.enter(key).then((left) => {
      order.push(who);
      leave.set(who, left);
    });
  };
  return { changes, clock, order, enter, leave: (who: string) => leave.get(who)!() };
}

test('the next begins when the one before has left, and another key does not wait', async () => {
  const { order, enter, leave } = line();
  for (const [who, key] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'x'],
    ['d', 'y'],
  ] as const)
    enter(who, key);
  await settle();
  assert.equal(order.join(), 'a,d');
  leave('a');
  await settle();
  assert.equal(order.join(), 'a,d,b');
  leave('b');
  await settle();
  assert.equal(order.join(), 'a,d,b,c');
  leave('c');
  enter('e', 'x');
  await settle();
  assert.equal(order.join(), 'a,d,b,c,e');
});

test('nobody waits for ever for one that waits for them', async () => {
  const { clock, order, enter } = line();
  enter('a', 'x');
  enter('b', 'x');
  await settle();
  clock.advance(1_999);
  await settle();
  assert.equal(order.join(), 'a');
  clock.advance(1);
  await settle();
  assert.equal(order.join(), 'a,b');
});

test('who waits does so as is asked for, and who gives up has left', async () => {
  const { changes, order, enter, leave } = line();
  const waits: string[] = [];
  const aside =
    (who: string, error?: Error) =>
    async (wait: () => Promise<void>): Promise<void> => {
      waits.push(who);
      await wait();
      if (error !== undefined) throw error;
    };
  await (async () => (await changes.enter('x', aside('first')))())();
  assert.deepEqual(waits, [], 'nobody was before it');
  enter('a', 'x');
  await settle();
  const late = new Error('too late');
  const second = changes.enter('x', aside('second', late));
  enter('b', 'x');
  await settle();
  assert.deepEqual(waits, ['second']);
  leave('a');
  await assert.rejects(second, late);
  await settle();
  assert.equal(order.join(), 'a,b');
});
