// Zeros that Go leaves out go, wherever they are; in a large object a few at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './json.ts';
import type { PlanNode, PlanSource } from './plan.ts';
import { dropZeros, dropZerosSteps } from './zero-values.ts';

const text: PlanNode = { kind: 'scalar', scalar: 'string' };
const struct = (fields: Readonly<Record<string, PlanNode>>, kept: readonly string[] = []): PlanNode => ({
  kind: 'struct',
  type: 'x',
  goName: 'X',
  fields: new Map(
    Object.entries(fields).map(([name, node]) => [
      name,
      { name, node, schema: {}, required: false, omitsZero: !kept.includes(name) },
    ]),
  ),
  defaults: [],
  required: [],
});
const leaf = struct({ name: text, kept: text }, ['kept']);
const plans: PlanSource = {
  plan: () =>
    struct({
      leaf,
      leaves: { kind: 'array', items: leaf },
      named: { kind: 'map', values: leaf },
      name: text,
    }),
};

test('zeros go from objects, lists and maps; what is no field, or is kept, stays', () => {
  const zeros = { name: '', kept: '', other: '' };
  const kept = { kept: '', other: '' };
  const object = {
    name: '',
    leaf: { ...zeros },
    leaves: [{ ...zeros }, null, 'x'],
    named: { '': { ...zeros } },
  };
  dropZeros(plans, 'x', object as unknown as JsonObject);
  assert.deepEqual(object, { leaf: kept, leaves: [kept, null, 'x'], named: { '': kept } });
});

test('a large object is walked in many steps, long lists too', () => {
  const leaves = Array.from({ length: 50_000 }, () => ({ name: '' }));
  let steps = 0;
  for (const _ of dropZerosSteps(plans, 'x', { leaves } as unknown as JsonObject)) steps++;
  assert.ok(steps >= 25, `${steps} steps`);
  assert.ok(leaves.every((one) => !('name' in one)));
  const named = Object.fromEntries(leaves.map((_, i) => [`n${i}`, { name: '' }]));
  steps = 0;
  for (const _ of dropZerosSteps(plans, 'x', { named } as unknown as JsonObject)) steps++;
  assert.ok(steps >= 25, `${steps} steps`);
  assert.ok(Object.values(named).every((one) => !('name' in one)));
});
