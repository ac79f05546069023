// How many have a lane, who is next, and who does not wait any longer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lanes } from './lanes.ts';

test('no more than so many have a lane; the others come in order, but those who left', async () => {
  const lanes = new Lanes(2);
  const { signal } = new AbortController();
  const leaving = new AbortController();
  const first = await lanes.take(signal);
  const second = await lanes.take(signal);
  const order: string[] = [];
  const waiting = (name: string, by: AbortSignal): Promise<() => void> =>
    lanes.take(by).then((leave) => {
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
  assert.equal(lanes.isIdle, false);
  leaveThird();
  leaveFourth();
  assert.equal(lanes.isIdle, true);
  await assert.rejects(lanes.take(leaving.signal), { name: 'AbortError' });
});
