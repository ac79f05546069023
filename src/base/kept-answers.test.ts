// Long questions and long answers take room from others, or are not kept at all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptAnswers } from './kept-answers.ts';

test('the oldest answers make room: for more of them, and for longer ones', () => {
  const kept = new KeptAnswers<number>({ most: 3, room: 20, longest: 15 });
  const left = (): string[] =>
    ['a', 'b', 'c', 'd', 'e'.repeat(15)].filter((one) => kept.get(one) !== undefined);
  for (const [i, question] of ['a', 'b', 'c', 'd'].entries()) kept.put(question, i);
  assert.deepEqual(left(), ['b', 'c', 'd']);
  kept.put('b', 7, { length: 10 });
  assert.deepEqual(left(), ['b', 'c', 'd']);
  assert.equal(kept.get('b'), 7);
  kept.put('e'.repeat(15), 5);
  assert.deepEqual(left(), ['e'.repeat(15)]);
  kept.clear();
  assert.deepEqual(left(), []);
  for (let i = 0; i < 20; i++) kept.put('b', i);
  kept.put('a', 1);
  assert.deepEqual(left(), ['a', 'b']);
});

test('what is too long is not kept, and takes the answer of before with it', () => {
  const kept = new KeptAnswers<string>({ most: 3, room: 20, longest: 15 });
  kept.put('a', 'old');
  kept.put('a', 'x'.repeat(15), { length: 15 });
  kept.put('b'.repeat(16), '');
  assert.equal(kept.get('a'), undefined);
  assert.equal(kept.get('b'.repeat(16)), undefined);
});

test('an answer holds until its time', () => {
  const kept = new KeptAnswers<string>({ most: 3, room: 20, longest: 15 });
  kept.put('a', 'x', { untilMs: 100 });
  assert.equal(kept.get('a', 99), 'x');
  assert.equal(kept.get('a', 100), undefined);
});
