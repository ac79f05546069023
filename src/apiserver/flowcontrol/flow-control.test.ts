// When a request begins that has a seat: behind others of its user, if it had to wait for its connection already.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import type { RequestInfo } from '../request-info.ts';
import { FlowControl } from './flow-control.ts';
import { flowMetrics } from './flow-metrics.ts';

const info = { isResource: true, verb: 'list', resource: 'pods', namespace: 'default' } as RequestInfo;
const { signal } = new AbortController();

/** In which order their requests begin, that come in this order. */
async function orderOf(waited: boolean, ...names: string[]): Promise<string> {
  const clock = new FakeClock();
  const flow = new FlowControl({ total: 20, clock, metrics: flowMetrics(createMetrics()) });
  const order: string[] = [];
  const ask = async (name: string): Promise<void> => {
    const user = { name, uid: '', groups: ['system:authenticated'], extra: {} };
    const classified = flow.classify(user, info);
    const ticket = await flow.enter(classified, user, info, 1, { signal, waited });
    assert.notEqual(typeof ticket, 'string');
    if (typeof ticket !== 'string') flow.leave(classified.level, ticket);
    order.push(name);
  };
  await Promise.all(names.map(ask));
  return order.join(' ');
}

test('S15: requests that waited for their connections wait for their users, who take turns', async () => {
  assert.equal(await orderOf(false, 'a', 'a', 'a', 'b', 'b'), 'a a a b b');
  assert.equal(await orderOf(true, 'a', 'a', 'a', 'b', 'b'), 'a b a b a');
});

test('S15: the accounts of a namespace wait as one user, and take turns among themselves', async () => {
  const [one, two] = ['system:serviceaccount:t:one', 'system:serviceaccount:t:two'];
  assert.equal(
    await orderOf(true, one, one, one, two, 'b', 'b', 'b'),
    [one, 'b', one, 'b', two, 'b', one].join(' '),
  );
});
