// What may be held once, and what must stay apart.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deepFreeze } from './shared-informer.ts';
import { sharing } from './shared-parts.ts';

const pod = (name: string, image: string) => ({
  metadata: { name, labels: { app: 'a' } },
  spec: {
    containers: [
      { name: 'c', image, env: [{ name: 'E', value: 'v' }] },
      { name: 'd', image: 'd' },
    ],
  },
});

describe('sharing', () => {
  it('takes what is the same from the other, however deep, and leaves what differs', () => {
    const like = pod('a', 'one');
    const value = pod('b', 'two');
    const expected = structuredClone(value);
    deepFreeze(like);
    assert.equal(sharing(value, like), value);
    assert.deepEqual(value, expected);
    assert.equal(value.metadata.labels, like.metadata.labels);
    assert.equal(value.spec.containers[0]!.env, like.spec.containers[0]!.env);
    assert.equal(value.spec.containers[1], like.spec.containers[1]);
    assert.notEqual(value.spec.containers[0], like.spec.containers[0]);
  });

  it('answers with the other where all is the same', () => {
    const like = pod('a', 'one');
    assert.equal(sharing(pod('a', 'one'), like), like);
  });

  const different: readonly (readonly [string, unknown, unknown])[] = [
    ['a member more', { a: 1, b: 2 }, { a: 1 }],
    ['a member less', { a: 1 }, { a: 1, b: 2 }],
    ['a member that is there and undefined', { a: undefined }, {}],
    ['a member that is undefined in the other', {}, { a: undefined }],
    ['another member that is undefined', { a: undefined }, { b: undefined }],
    ['an element more', [1, 2], [1]],
    ['an element less', [1], [1, 2]],
    ['an array and an object', [], {}],
    ['an object and an array', {}, []],
    ['null and an object', null, {}],
    ['an object and null', {}, null],
    ['a number and its text', { a: 1 }, { a: '1' }],
    ['a member that every object inherits', { toString: undefined }, {}],
    ['a member named as the prototype', JSON.parse('{"__proto__":{"a":1}}'), {}],
    ['int64s', { a: 2n ** 60n }, { a: 2n ** 60n + 1n }],
  ];
  for (const [what, value, like] of different)
    it(`keeps apart: ${what}`, () => {
      const before = structuredClone(value);
      assert.equal(sharing(value, like), value);
      assert.deepEqual(value, before);
    });

  it('keeps members named as the prototype as they are', () => {
    const like = JSON.parse('{"__proto__":{"a":{"b":1}},"c":1}');
    const value = JSON.parse('{"__proto__":{"a":{"b":1}},"c":2}');
    sharing(value, like);
    assert.equal(JSON.stringify(value), '{"__proto__":{"a":{"b":1}},"c":2}');
  });
});
