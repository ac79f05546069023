// A table of selectors says of labels what each of them says alone, and costs what the labels touch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operator, Requirement } from './label-requirement.ts';
import { matchesRequirement } from './label-requirement.ts';
import type { Labels } from './labels.ts';
import { type Row, rowOf, SelectorTable } from './selector-table.ts';

const matching = (table: SelectorTable, labels: Labels): number[] => {
  const { rows } = table.differing(labels);
  return table.base.flatMap((holds, at) => (holds !== rows.includes(at) ? [at] : []));
};

/** Numbers that look random and are the same each time. */
function numbers(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test('any selectors say together what each says alone', () => {
  const next = numbers();
  const keys = ['a', 'b', 'constructor', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  const values = ['1', '2', '3', 'x', ''];
  const one = <T>(of: readonly T[]): T => of[next(of.length)]!;
  const operators: readonly Operator[] = ['=', '!=', 'in', 'notin', 'exists', '!', 'gt', 'lt'];
  const requirement = (among: readonly string[]): Requirement => {
    const operator = one(operators);
    const count = ['in', 'notin'].includes(operator)
      ? 1 + next(4)
      : ['exists', '!'].includes(operator)
        ? 0
        : 1;
    return { key: one(among), operator, values: Array.from({ length: count }, () => one(values)) };
  };
  // Few keys and many, few rows and many.
  for (const [among, length] of [
    [keys.slice(0, 3), 10],
    [keys, 10],
    [keys, 100],
    [keys.slice(0, 4), 100],
  ] as const) {
    for (let round = 0; round < 40; round++) {
      const rows: Row[] = Array.from({ length }, () =>
        next(20) === 0 ? undefined : Array.from({ length: next(4) }, () => requirement(among)),
      );
      const table = new SelectorTable(rows);
      for (let i = 0; i < 20; i++) {
        const labels = Object.fromEntries(keys.flatMap((key) => (next(2) === 0 ? [] : [[key, one(values)]])));
        const expected = rows.flatMap((row, at) =>
          row?.every((each) => matchesRequirement(each, labels)) ? [at] : [],
        );
        assert.deepEqual(matching(table, labels), expected, JSON.stringify([rows, labels]));
        assert.equal(table.count(labels), expected.length);
      }
    }
  }
});

test('objects: none selects nothing, an empty one everything, what is no operator nothing', () => {
  const rows = [
    rowOf(undefined),
    rowOf({}),
    rowOf({ matchExpressions: [{ key: 'a', operator: 'Like' }] }),
    rowOf({ matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] }),
  ];
  assert.deepEqual(matching(new SelectorTable(rows), {}), [1]);
  assert.deepEqual(matching(new SelectorTable(rows), { a: '1' }), [1, 3]);
  assert.deepEqual(matching(new SelectorTable(rows), { a: '1', b: '' }), [1]);
});

test('thousands of selectors that match everything, or forbid what is not there, cost nothing', () => {
  const rows = Array.from({ length: 9_000 }, (_, i): Row => {
    if (i % 3 === 0) return [];
    return [{ key: `k${i}`, operator: i % 3 === 1 ? 'notin' : '!', values: i % 3 === 1 ? ['v'] : [] }];
  });
  const table = new SelectorTable(rows);
  const labels = { app: 'web', tier: 'front', k1: 'v' };
  assert.deepEqual(table.differing(labels).rows, [1]);
  const from = process.cpuUsage();
  for (let i = 0; i < 50_000; i++) assert.equal(table.count({ ...labels, id: `${i}` }), 8_999);
  // 9,000 each would be 450 million.
  assert.ok(process.cpuUsage(from).user < 1_000_000);
});

test('labels that a row names by their values are told apart, others share an answer; what is kept is bounded', () => {
  const rows = Array.from(
    { length: 2_000 },
    (_, i): Row => [
      { key: 'id', operator: 'exists', values: [] },
      { key: 'id', operator: 'in', values: [`${i}`, 'all'] },
    ],
  );
  const table = new SelectorTable(rows);
  const strangers = Array.from({ length: 20_000 }, (_, i) => ({ id: `stranger-${i}` }));
  const first = table.differing({ id: 'nobody' });
  for (const labels of strangers) assert.equal(table.differing(labels), first);
  for (let i = 0; i < 2_000; i++)
    assert.deepEqual(table.differing({ id: `${i}` }), { rows: [i], balance: 1 });
  assert.equal(table.count({ id: 'all' }), 2_000);
});
