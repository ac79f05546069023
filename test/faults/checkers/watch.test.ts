// The checker itself: it accepts a watch that kept its guarantees, and finds each planted lie by its name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '../../../src/storage/testing/store-model.ts';
import {
  brokenGuarantees,
  type Change,
  ChangeLog,
  type Frame,
  type Guarantee,
  type State,
  type WatchRecord,
} from './watch.ts';

const red = (value: string): State => ({ value, group: 'red' });
const blue = (value: string): State => ({ value, group: 'blue' });
const change = (revision: number, key: string, state: State | null): Change => ({ revision, key, state });
const log = new ChangeLog([
  change(2, 'a', red('1')),
  change(3, 'b', blue('2')),
  change(5, 'a', blue('3')),
  change(6, 'b', null),
  change(8, 'a', red('4')),
  change(9, 'b', red('5')),
  change(10, 'a', null),
]);
const two = new ChangeLog([...log.steps, change(12, 'c', red('6')), change(12, 'd', red('7'))]);
const all = (): boolean => true;
const onlyRed = (_: string, state: State): boolean => state.group === 'red';
const frame = (
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  revision: number,
  key: string,
  state: State,
): Frame => ({
  type,
  revision,
  key,
  state,
});
const mark = (revision: number): Frame => ({ type: 'BOOKMARK', revision });
const record = (
  from: number,
  frames: readonly Frame[],
  selects: WatchRecord['selects'] = all,
): WatchRecord => ({
  from,
  selects,
  frames,
});
const whole: readonly Frame[] = [
  frame('ADDED', 2, 'a', red('1')),
  frame('ADDED', 3, 'b', blue('2')),
  frame('MODIFIED', 5, 'a', blue('3')),
  frame('DELETED', 6, 'b', blue('2')),
  frame('MODIFIED', 8, 'a', red('4')),
  frame('ADDED', 9, 'b', red('5')),
  frame('DELETED', 10, 'a', red('4')),
];
const reds: readonly Frame[] = [
  frame('ADDED', 2, 'a', red('1')),
  frame('DELETED', 5, 'a', red('1')),
  frame('ADDED', 8, 'a', red('4')),
  frame('ADDED', 9, 'b', red('5')),
  frame('DELETED', 10, 'a', red('4')),
];
const without = (frames: readonly Frame[], index: number): Frame[] => frames.filter((_, i) => i !== index);
const put = (frames: readonly Frame[], index: number, ...more: Frame[]): Frame[] => [
  ...frames.slice(0, index),
  ...more,
  ...frames.slice(index),
];

test('watches that kept all guarantees', () => {
  const fine: readonly WatchRecord[] = [
    record(0, []),
    record(0, whole),
    record(0, whole.slice(0, 3)),
    record(3, whole.slice(2)),
    record(4, whole.slice(2)),
    record(0, reds, onlyRed),
    record(5, reds.slice(2), onlyRed),
    record(2, [...reds.slice(1, 2), mark(6), mark(7), ...reds.slice(2), mark(11)], onlyRed),
    record(11, [mark(20)]),
  ];
  for (const watch of fine) assert.deepEqual(brokenGuarantees(log, watch), []);
  assert.deepEqual(
    brokenGuarantees(two, record(10, [frame('ADDED', 12, 'c', red('6')), frame('ADDED', 12, 'd', red('7'))])),
    [],
  );
});

const lies: readonly [what: string, guarantee: Guarantee, watch: WatchRecord, log?: ChangeLog][] = [
  ['an object that is not selected', 'filter', record(0, whole, onlyRed)],
  ['an event of before the revision that was asked for', 'filter', record(5, whole.slice(2))],
  ['two events in the wrong order', 'ordered', record(0, [...whole.slice(0, 4), whole[5]!, whole[4]!])],
  ['an event twice', 'unique', record(0, put(whole, 3, whole[2]!))],
  ['an event again later', 'unique', record(0, [...whole, whole[3]!])],
  ['half of a revision', 'atomic', record(10, [frame('ADDED', 12, 'c', red('6'))]), two],
  [
    'a revision with a bookmark in its middle',
    'atomic',
    record(10, [frame('ADDED', 12, 'c', red('6')), mark(12), frame('ADDED', 12, 'd', red('7'))]),
    two,
  ],
  ['a bookmark of what is still to come', 'bookmarkable', record(0, put(whole, 3, mark(8)))],
  ['a bookmark that goes back', 'bookmarkable', record(0, put(whole, 3, mark(4)))],
  ['a second bookmark that goes back', 'bookmarkable', record(11, [mark(14), mark(13)])],
  ['a watch that goes on too late', 'resumable', record(3, whole.slice(3))],
  ['MODIFIED of what was not there', 'is-create', record(0, [{ ...whole[0]!, type: 'MODIFIED' } as Frame])],
  ['ADDED of what was there', 'is-create', record(3, [{ ...whole[2]!, type: 'ADDED' } as Frame])],
  ['an event left out in the middle', 'reliable', record(0, without(whole, 3))],
  ['an event left out before a bookmark', 'reliable', record(0, [...whole.slice(0, 6), mark(10)])],
  ['an event that nobody stored', 'reliable', record(0, put(whole, 2, frame('ADDED', 4, 'x', red('9'))))],
  ['a state that nobody stored', 'reliable', record(0, [frame('ADDED', 2, 'a', red('0'))])],
  ['an object that ceased to be selected and was not told', 'reliable', record(0, without(reds, 1), onlyRed)],
  ['a deletion with a state of long ago', 'previous', record(9, [frame('DELETED', 10, 'a', red('1'))])],
];
test('each planted lie is found by its name', (context) => {
  for (const [what, guarantee, watch, of = log] of lies) {
    const found = brokenGuarantees(of, watch).map((one) => one.guarantee);
    assert.ok(found.includes(guarantee), `${what}: ${found}`);
  }
  assert.equal(new Set(lies.map(([, guarantee]) => guarantee)).size, 9);
  context.diagnostic(`${lies.length} lies`);
});

test('of long random watches, each event that is dropped, doubled or swapped is found', (context) => {
  const random = seeded(5);
  let found = 0;
  for (let round = 0; round < 200; round++) {
    const live = new Set<string>();
    const changes = Array.from({ length: 40 }, (_, i): Change => {
      const key = `k${random(5)}`;
      const deletes = live.has(key) && random(3) === 0;
      if (deletes) live.delete(key);
      else live.add(key);
      return change(i + 2, key, deletes ? null : { value: `v${i}`, group: random(2) === 0 ? 'red' : 'blue' });
    });
    const made = new ChangeLog(changes);
    const selects = random(2) === 0 ? all : onlyRed;
    const frames = made.expected(record(0, [], selects), 100);
    assert.deepEqual(brokenGuarantees(made, record(0, frames, selects)), []);
    const at = random(frames.length - 1);
    const wrong = [
      without(frames, at),
      put(frames, at, frames[at]!),
      [...frames.slice(0, at), frames[at + 1]!, frames[at]!, ...frames.slice(at + 2)],
    ][round % 3]!;
    assert.notDeepEqual(brokenGuarantees(made, record(0, wrong, selects)), []);
    found++;
  }
  context.diagnostic(`${found} changed watches`);
});
