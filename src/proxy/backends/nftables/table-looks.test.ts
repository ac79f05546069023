// A table is looked at as often as it is cheap; who must not rely on it is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { silentLogger } from '../../../component-base/logger.ts';
import type { Fragment } from './fragment.ts';
import { TableLooks } from './table-looks.ts';

function start() {
  const clock = new FakeClock();
  const said: string[] = [];
  const say = (_: object, message: string): void => void said.push(message);
  const looks = new TableLooks({ clock, log: { ...silentLogger, warn: say, error: say } });
  return { clock, looks, said };
}
const seen = (missing: string | undefined, bytes = 0) => ({ missing, bytes });
/** With so many elements. */
const fragment = (size: number): Fragment => ({
  elements: new Map([['cluster-ips', new Map(Array.from({ length: size }, (_, i) => [String(i), '']))]]),
  sharedChains: new Map(),
  chains: new Map(),
  sets: new Map(),
});

test('a long list is not asked for again before it has had its rest', async () => {
  const { clock, looks } = start();
  let asked = 0;
  const look = async () => {
    asked++;
    return seen(undefined, 100_000);
  };
  for (const ms of [0, 9_999, 1]) {
    clock.advance(ms);
    assert.equal(await looks.missing([], look), undefined);
  }
  assert.equal(asked, 2);
});

test('that the rules are too many to be compared is said once, and again when they were fewer meanwhile', async () => {
  const { looks, said } = start();
  const never = async () => assert.fail('nobody looks');
  const [many, few] = [[fragment(50_000), fragment(1)], [fragment(1)]];
  for (let i = 0; i < 3; i++) assert.equal(await looks.missing(many, never), undefined);
  assert.equal(said.length, 1);
  assert.match(said[0]!, /^service rules are too many to be compared/);
  assert.equal(await looks.missing(few, async () => seen('1 of 1 elements of m')), '1 of 1 elements of m');
  await looks.missing(many, never);
  assert.equal(said.length, 2);
});

test('what is taken each time is written anew three times, then left alone until all is there; that is said', async () => {
  const { looks, said } = start();
  const missing = (what: string | undefined) => looks.missing([], async () => seen(what));
  const found: unknown[] = [];
  for (let i = 0; i < 6; i++) found.push(await missing('a'));
  assert.deepEqual(found, ['a', 'a', 'a', undefined, undefined, undefined]);
  assert.equal(said.length, 1);
  assert.equal(await missing('b'), 'b', 'something else is another matter');
  assert.equal(await missing(undefined), undefined);
  assert.equal(await missing('a'), 'a');
});
