// Cells of custom resources: what their columns' types make of values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../apimachinery/declaration.ts';
import { printerColumns } from './printer-columns.ts';

const now = Date.parse('2026-06-01T12:00:00Z');
function cell(type: string, value: Json, jsonPath = '.spec.shown'): Json | undefined {
  const columns = printerColumns({ additionalPrinterColumns: [{ name: 'Shown', type, jsonPath }] });
  return columns.row({ metadata: { name: 'one' }, spec: { shown: value } }, now)[1];
}

test('a column of texts shows objects as Go writes them, numbers as Go prints them, and null by a word', () => {
  assert.equal(
    cell('string', { to: { b: 1, a: '<&>' }, from: [2] }),
    '{"from":[2],"to":{"a":"\\u003c\\u0026\\u003e","b":1}}',
  );
  assert.equal(cell('string', 2_500_000.25), '2.50000025e+06');
  assert.equal(cell('string', 0.00002), '2e-05');
  assert.equal(cell('string', 70), '70');
  assert.equal(cell('string', null), '<no value>');
  assert.equal(cell('integer', null), null);
  assert.equal(cell('string', 1, '.spec.other'), null);
});

test('a column of dates takes what Go takes for a time, and says of none that it is unknown', () => {
  assert.equal(cell('date', '2026-06-01T10:00:00+00:00'), '120m');
  for (const none of ['', 'null']) assert.equal(cell('date', none), '<unknown>');
  for (const wrong of ['2026-06-01', '2026-06-01T10:00:00', '2026-06-31T10:00:00Z', '2026'])
    assert.equal(cell('date', wrong), '<invalid>', wrong);
});

test('the last of a list is found by a slice', () => {
  assert.equal(
    cell('string', [{ type: 'Created' }, { type: 'Running' }], '.spec.shown[-1:].type'),
    'Running',
  );
});

test('a column of numbers has floats, one of integers has none that do not fit, and integers in an object keep their digits', () => {
  const large = 2n ** 53n + 1n;
  assert.equal(cell('number', large as unknown as Json), 2 ** 53);
  assert.equal(cell('integer', large as unknown as Json), large);
  assert.equal(cell('integer', 1e21), -(2n ** 63n));
  assert.equal(cell('integer', -1.5), -1);
  assert.equal(cell('string', { n: large as unknown as Json, f: 1e6 }), '{"f":1000000,"n":9007199254740993}');
});

test('the path of a column may lead to any depth; with one that can not be read the columns end', () => {
  assert.equal(cell('string', { deep: [{ x: 'found' }] }, '..x'), 'found');
  const [good, bad] = ['.spec.a', '....a'].map((jsonPath) => ({ name: jsonPath, type: 'string', jsonPath }));
  const { columns, row } = printerColumns({ additionalPrinterColumns: [good, bad, good] as Json[] });
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['Name', '.spec.a'],
  );
  assert.deepEqual(row({ metadata: { name: 'one' }, spec: { a: 'b' } }, now), ['one', 'b']);
});
