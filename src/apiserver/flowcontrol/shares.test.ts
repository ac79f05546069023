// Service accounts of one namespace share: whoever may make one may make sixty.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowSchema } from '../../api/generated/types/flowcontrol-v1.ts';
import type { RequestInfo } from '../request-info.ts';
import { flowOf } from './shares.ts';
import { UserPlaces } from './user-limits.ts';

const account = (namespace: string, i: number): string => `system:serviceaccount:${namespace}:robot-${i}`;
const sixty = (namespace: string): string[] => Array.from({ length: 60 }, (_, i) => account(namespace, i));

test('sixty accounts of a namespace have the places of four users; others, and those of kube-system, have their own', () => {
  const places = new UserPlaces(3);
  const taken = sixty('team').flatMap((name) => places.take(name) ?? []);
  assert.equal(taken.length, 12);
  for (const name of ['jane', account('other', 1), 'system:node:a', 'system:serviceaccount:odd'])
    assert.equal([1, 2, 3, 4].filter(() => places.take(name)).length, 3, name);
  assert.equal(sixty('kube-system').filter((name) => places.take(name)).length, 60);
  // Who was refused for the others' sake has lost none of its own places.
  taken[0]!();
  taken[0]!();
  assert.equal(places.take(account('team', 59)) === undefined, false);
  assert.equal(places.take(account('team', 58)), undefined);
});

test('an account has the places of any user, whatever its fellows have within their bound', () => {
  const places = new UserPlaces(3);
  assert.equal([1, 2, 3, 4].filter(() => places.take(account('team', 0))).length, 3);
  assert.equal([1, 2, 3, 4].filter(() => places.take(account('team', 1))).length, 3);
});

test('flows are upstream’s; accounts of a namespace stand in the queues of four, and are one party', () => {
  const schema = (type: string): FlowSchema =>
    ({ metadata: { name: 's' }, spec: { distinguisherMethod: { type } } }) as FlowSchema;
  const flow = (name: string, type = 'ByUser') =>
    flowOf(schema(type), { name, groups: [] } as never, { namespace: 'of-the-pod' } as RequestInfo);
  assert.deepEqual(flow('jane'), { name: 's\njane' });
  assert.deepEqual(flow(account('kube-system', 1)), { name: `s\n${account('kube-system', 1)}` });
  assert.deepEqual(flow(account('team', 1), 'ByNamespace'), { name: 's\nof-the-pod' });
  const flows = sixty('team').map((name) => flow(name));
  assert.equal(new Set(flows.map(({ name }) => name)).size, 60);
  assert.equal(new Set(flows.map(({ hand }) => hand)).size, 4);
  assert.deepEqual(new Set(flows.map(({ party }) => party)), new Set(['s\nsystem:serviceaccounts:team']));
});
