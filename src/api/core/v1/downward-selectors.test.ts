// Which field of a pod a selector names, whatever is written there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envFieldPaths, fieldRefErrors } from './downward-selectors.ts';

const messages = (fieldPath: string): string[] =>
  fieldRefErrors('at', { fieldPath }, envFieldPaths).map(({ message }) => message.split(':')[0]!);

const rows: readonly (readonly [fieldPath: string, ...messages: string[]])[] = [
  ["metadata.labels['a.b/c']"],
  ["metadata.annotations['A']"],
  ["metadata.labels['']", 'Invalid value', 'Invalid value'],
  ["metadata.labels[']", 'Unsupported value'],
  ["metadata.labels['a']['b']", 'Unsupported value'],
  ["spec.nodeName['a']", 'Unsupported value'],
  ['metadata.name'],
];
for (const [fieldPath, ...expected] of rows)
  test(fieldPath, () => assert.deepEqual(messages(fieldPath), expected));

test('a megabyte of brackets is read once', () => {
  const started = process.cpuUsage();
  assert.deepEqual(messages("['".repeat(500_000)), ['Unsupported value']);
  const { user } = process.cpuUsage(started);
  assert.ok(user < 1_000_000, `${user} µs`);
});
