// Nothing becomes null where the type says so and nowhere else; what was given stays as it was, and a long list goes in steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../base/turns.ts';
import type { FieldSchema, JsonObject } from './json.ts';
import { dropNils, withNils } from './nil-values.ts';
import { createPlans } from './schema-plan.ts';

const texts: FieldSchema = { type: 'array', items: { type: 'string' } };
const types: Readonly<Record<string, Readonly<Record<string, FieldSchema>>>> = {
  'x.Leaf': { names: { ...texts, servesNull: true }, others: texts },
  'x.Tree': {
    list: { type: 'array', items: { ref: 'x.Leaf' } },
    one: { ref: 'x.Leaf' },
    group: { type: 'string', servesNull: true },
    tree: { ref: 'x.Tree' },
  },
  'x.Plain': { others: texts },
};
const plans = createPlans({
  type: (name) => (types[name] ? { type: 'object', fields: types[name] } : undefined),
});
const shown = (type: string, object: unknown): unknown => atOnce(withNils(plans, type, object as JsonObject));
const frozen = (value: object): object => {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) frozen(inner);
  return Object.freeze(value);
};

test('lists and pointers that are not there are null, and so are empty lists; what is given is not written', () => {
  const given = frozen({ list: [{ names: ['a'] }, {}, { names: [], others: [] }], one: {} });
  assert.deepEqual(shown('x.Tree', given), {
    list: [{ names: ['a'] }, { names: null }, { names: null, others: [] }],
    one: { names: null },
    group: null,
  });
});

test('what has nothing to add is the very same object', () => {
  for (const [type, object] of [
    ['x.Tree', { group: '', list: [{ names: ['a'] }, null, 'x'] }],
    ['x.Plain', {}],
    ['x.Unknown', {}],
  ] as const)
    assert.equal(shown(type, object), object);
});

test('taken out again, the object is as it was', () => {
  const object = { list: [{ names: ['a'] }, {}, null], one: {}, other: null };
  const made = shown('x.Tree', structuredClone(object)) as JsonObject;
  assert.notDeepEqual(made, object);
  atOnce(dropNils(plans, 'x.Tree', made));
  assert.deepEqual(made, object);
});

test('a long list goes in steps, both ways', () => {
  const list = Array.from({ length: 20_000 }, () => ({}));
  const count = (steps: Generator<unknown>): number => [...steps].length;
  assert.ok(count(withNils(plans, 'x.Tree', { list } as JsonObject)) >= 20);
  assert.ok(count(dropNils(plans, 'x.Tree', { list } as JsonObject)) >= 20);
});
