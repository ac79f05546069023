// The revision in the bytes of an object: written in place where the draft has room for it, and into a copy elsewhere.
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { isStampOf, stamp, stampedCopy, unstamped, withRevision } from './stamp.ts';
import type { Draft } from './storage.ts';

const head = '{"metadata":{"resourceVersion":"';
const draft = (gap: number): Draft => ({
  bytes: Buffer.from(`${head}${'0'.repeat(gap)}","é":1}}`),
  revisionAt: head.length,
  gap,
});
const text = (revision: number): string => `${head}${revision}","é":1}}`;

test('what is never stored has no revision', () => {
  const of = (before: string, after: string): string =>
    unstamped({ bytes: Buffer.from(before + after), revisionAt: before.length }).toString();
  assert.equal(of(head, '","é":1}}'), '{"metadata":{"é":1}}');
  assert.equal(of(head, '"}}'), '{"metadata":{}}');
  assert.equal(
    of('{"metadata":{"name":"a","resourceVersion":"', '"},"b":1}'),
    '{"metadata":{"name":"a"},"b":1}',
  );
});

describe('stamp', () => {
  it('keeps the bytes of a draft that has room for exactly this revision', () => {
    const made = draft(3);
    const value = stamp(made, 123);
    assert.equal(value.toString(), text(123));
    assert.equal(value, made.bytes);
    assert.ok(isStampOf(value, made, 123));
  });

  for (const gap of [0, 2, 4])
    it(`copies a draft with room for ${gap} digits of three`, () => {
      const made = draft(gap);
      const value = stamp(made, 123);
      assert.equal(value.toString(), text(123));
      assert.notEqual(value.buffer, (made.bytes as Buffer).buffer);
      assert.ok(isStampOf(value, made, 123));
      assert.ok(!isStampOf(withRevision(value, 1234), made, 123));
    });

  it('gives each state bytes of its own when a draft is stamped again', () => {
    const made = draft(3);
    const first = stamp(made, 123);
    const second = stamp(made, 124);
    assert.equal(first.toString(), text(123));
    assert.equal(second.toString(), text(124));
    assert.ok(isStampOf(second, made, 124));
    assert.equal(stampedCopy(made, '').toString(), `${head}","é":1}}`);
  });
});
