// The checker itself: it accepts what one object could have done, and finds each planted lie.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '../../../src/storage/testing/store-model.ts';
import { type Answer, type Operation, type Recorded, unexplained } from './linearizable.ts';

type Row = readonly [invoked: number, returned: number, operation: Operation];
const get = (found: string | null): Operation => ({ what: 'get', found });
const create = (value: string, answer: Answer = 'ok'): Operation => ({ what: 'create', value, answer });
const put = (expected: string, value: string, answer: Answer = 'ok'): Operation => ({
  what: 'put',
  value,
  expected,
  answer,
});
const remove = (expected?: string, answer: Answer = 'ok'): Operation => ({
  what: 'delete',
  expected,
  answer,
});
const historyOf = (rows: readonly Row[]): Recorded[] =>
  rows.map(([invoked, returned, operation]) => ({ invoked, returned, operation }));

const fine: readonly [what: string, rows: readonly Row[]][] = [
  ['nothing happened', []],
  [
    'a read beside a write sees either state',
    [
      [0, 9, create('a')],
      [1, 2, get(null)],
      [3, 4, get('a')],
    ],
  ],
  [
    'a lost answer whose write happened late',
    [
      [0, 1, create('a', 'unknown')],
      [2, 3, get(null)],
      [4, 5, get('a')],
    ],
  ],
  [
    'a lost answer whose write never happened',
    [
      [0, 1, create('a', 'unknown')],
      [2, 3, create('b')],
      [4, 5, get('b')],
    ],
  ],
  [
    'a refusal because of a write that was not told yet',
    [
      [0, 9, create('a')],
      [1, 2, create('b', 'refused')],
    ],
  ],
  [
    'one of two writers wins',
    [
      [0, 1, create('a')],
      [2, 6, put('a', 'b')],
      [2, 6, put('a', 'c', 'refused')],
      [7, 8, get('b')],
    ],
  ],
  [
    'deleted and made again',
    [
      [0, 1, create('a')],
      [2, 3, remove('a')],
      [4, 5, create('b')],
      [6, 7, remove('a', 'refused')],
      [8, 9, get('b')],
    ],
  ],
];
for (const [what, rows] of fine)
  test(`explained: ${what}`, () => assert.equal(unexplained(historyOf(rows)), undefined));

const lies: readonly [what: string, rows: readonly Row[]][] = [
  [
    'a stale read',
    [
      [0, 1, create('a')],
      [2, 3, put('a', 'b')],
      [4, 5, get('a')],
    ],
  ],
  [
    'a lost create',
    [
      [0, 1, create('a')],
      [2, 3, get(null)],
    ],
  ],
  [
    'a lost update: both writers of one state were told ok',
    [
      [0, 1, create('a')],
      [2, 5, put('a', 'b')],
      [2, 5, put('a', 'c')],
    ],
  ],
  [
    'a read that goes back',
    [
      [0, 9, create('a')],
      [1, 2, get('a')],
      [3, 4, get(null)],
    ],
  ],
  [
    'a value that nobody wrote',
    [
      [0, 1, create('a')],
      [2, 3, get('x')],
    ],
  ],
  [
    'a read from the future',
    [
      [0, 1, get('a')],
      [2, 3, create('a')],
    ],
  ],
  [
    'what was deleted is back',
    [
      [0, 1, create('a')],
      [2, 3, remove()],
      [4, 5, get('a')],
    ],
  ],
  [
    'a refusal without a reason',
    [
      [0, 1, create('a')],
      [2, 3, put('a', 'b', 'refused')],
      [4, 5, get('a')],
    ],
  ],
  [
    'a refused write that happened',
    [
      [0, 1, create('a')],
      [2, 3, put('x', 'b', 'refused')],
      [4, 5, get('b')],
    ],
  ],
  [
    'a lost answer whose write is seen, then not',
    [
      [0, 1, create('a', 'unknown')],
      [2, 3, get('a')],
      [4, 5, get(null)],
    ],
  ],
  [
    'made twice',
    [
      [0, 1, create('a')],
      [2, 3, create('b')],
    ],
  ],
];
for (const [what, rows] of lies)
  test(`found: ${what}`, () => assert.notEqual(unexplained(historyOf(rows)), undefined));

/** Twelve clients of one object that does one thing at a time, at a moment between call and return. */
function simulated(seed: number, count: number): Recorded[] {
  const random = seeded(seed);
  const history: Recorded[] = [];
  let state: string | null = null;
  for (let i = 0; i < count; i++) {
    const at = i * 10;
    const [invoked, returned] = [at - random(60), at + random(60)];
    const answer = (ok: boolean): Answer => (random(20) === 0 ? 'unknown' : ok ? 'ok' : 'refused');
    const what = random(5);
    let operation: Operation;
    if (what < 2) operation = get(state);
    else if (what === 2) {
      operation = create(`v${i}`, answer(state === null));
      state ??= `v${i}`;
    } else if (what === 3) {
      const expected: string = random(3) === 0 || state === null ? 'old' : state;
      operation = put(expected, `v${i}`, answer(expected === state));
      if (expected === state) state = `v${i}`;
    } else {
      operation = remove(undefined, answer(state !== null));
      state = null;
    }
    history.push({ invoked, returned, operation });
  }
  return history;
}

test('histories of one object are explained, and found out when one read of each is changed', (context) => {
  const rounds = 20;
  let found = 0;
  for (let seed = 1; seed <= rounds; seed++) {
    const history = simulated(seed, 200);
    assert.equal(unexplained(history), undefined, `seed ${seed}`);
    const at = history.findIndex(({ operation }, i) => i > 100 && operation.what === 'get');
    const old = history.find(({ operation }) => operation.what === 'create' && operation.answer === 'ok')!;
    // It shows what was there a hundred operations before, or will never be.
    const wrong = seed % 2 === 0 ? 'never' : (old.operation as { readonly value: string }).value;
    const lie = history.with(at, { ...history[at]!, operation: get(wrong) });
    if (unexplained(lie) !== undefined) found++;
  }
  context.diagnostic(`${rounds} histories of 200 operations, ${found} lies found`);
  assert.equal(found, rounds);
});
