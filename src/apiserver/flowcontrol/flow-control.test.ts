// When a request begins that has a seat: behind others of its user, if it had to wait for its connection already.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types/flowcontrol-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import type { RequestInfo } from '../request-info.ts';
import { FlowControl, type FlowObjects } from './flow-control.ts';
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
    if (typeof ticket !== 'string') flow.leave(classified, ticket);
    order.push(name);
  };
  await Promise.all(names.map(ask));
  return order.join(' ');
}

test('requests that waited for their connections wait for their users, who take turns', async () => {
  assert.equal(await orderOf(false, 'a', 'a', 'a', 'b', 'b'), 'a a a b b');
  assert.equal(await orderOf(true, 'a', 'a', 'a', 'b', 'b'), 'a b a b a');
});

test('the accounts of a namespace wait as one user, and take turns among themselves', async () => {
  const [one, two] = ['system:serviceaccount:t:one', 'system:serviceaccount:t:two'];
  assert.equal(
    await orderOf(true, one, one, one, two, 'b', 'b', 'b'),
    [one, 'b', one, 'b', two, 'b', one].join(' '),
  );
});

test('who waits and who is served is told by schema and level, and of nobody when all have left', async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const rules = [
    {
      subjects: [{ kind: 'Group', group: { name: 'system:authenticated' } }],
      resourceRules: [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
      ],
    },
  ];
  const schemas = [
    { metadata: { name: 'all' }, spec: { priorityLevelConfiguration: { name: 'narrow' }, rules } },
  ] as unknown as FlowSchema[];
  const limited = { nominalConcurrencyShares: 5, borrowingLimitPercent: 0, limitResponse: { type: 'Queue' } };
  const levels = [
    { metadata: { name: 'narrow' }, spec: { type: 'Limited', limited } },
  ] as unknown as PriorityLevelConfiguration[];
  const objects: FlowObjects = { version: () => 1, schemas: () => schemas, levels: () => levels };
  const flow = new FlowControl({ total: 4, clock, metrics: flowMetrics(metrics), objects });
  const told = async (): Promise<readonly string[]> =>
    (await metrics.text()).text
      .split('\n')
      .filter((line) => line.startsWith('apiserver_flowcontrol_current_'))
      .map((line) => line.replace('apiserver_flowcontrol_current_', ''));
  const of = '{flow_schema="all",priority_level="narrow"}';
  const crowd = (waiting: number, executing: number, seats: number): readonly string[] => [
    `inqueue_requests${of} ${waiting}`,
    `executing_requests${of} ${executing}`,
    `executing_seats${of} ${seats}`,
  ];
  const enter = async (name: string) => {
    const user = { name, uid: '', groups: ['system:authenticated'], extra: {} };
    const classified = flow.classify(user, info);
    const ticket = await flow.enter(classified, user, info, 2, { signal });
    assert.ok(typeof ticket !== 'string', `${name}: ${String(ticket)}`);
    return () => flow.leave(classified, ticket);
  };
  const leave = await enter('a');
  const second = enter('b');
  assert.deepEqual(await told(), crowd(1, 1, 2));
  leave();
  const leaveSecond = await second;
  assert.deepEqual(await told(), crowd(0, 1, 2));
  leaveSecond();
  assert.deepEqual(await told(), crowd(0, 0, 0));
});
