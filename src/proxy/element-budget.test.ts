// One namespace's Services have a share of a node, and wait for each other alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ElementBudget } from './element-budget.ts';
import type { Frontend, ServiceRules } from './rule-set.ts';

const backend = { ip: '10.244.1.2', port: 80, local: false };
const rulesOf = (service: string, cost: number): ServiceRules => ({
  service,
  frontends: [
    {
      backends: Array(cost - 1).fill(backend),
      insideBackends: [],
      allowedSources: undefined,
    } as unknown as Frontend,
  ],
});
const has = (rules: ServiceRules | undefined): boolean => (rules?.frontends.length ?? 0) > 0;

test('what does not fit beside the others of its namespace has no rules until there is room', () => {
  const budget = new ElementBudget(100);
  const put = (service: string, cost: number): boolean => has(budget.admit(service, rulesOf(service, cost)));
  assert.ok(put('a/one', 60));
  assert.ok(!put('a/two', 50));
  assert.equal(budget.admit('a/two', rulesOf('a/two', 50))?.isCut, true);
  assert.ok(put('b/one', 100), 'another namespace');
  assert.ok(put('a/three', 40));
  assert.ok(put('a/one', 60), 'it is not counted twice');
  assert.deepEqual(budget.fittingBeside('a/three'), []);
  assert.ok(put('a/one', 10));
  assert.deepEqual(budget.fittingBeside('a/one'), ['a/two']);
  assert.ok(put('a/two', 50));
  assert.deepEqual(budget.fittingBeside('a/one'), []);
  assert.equal(budget.admit('a/one', undefined), undefined);
  assert.ok(put('a/four', 10));
});
