// What a repair finds between Services and the records of what they hold: the cases of upstream's, as a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CachedObject } from '../../storage/watch/resource-cache.ts';
import type { Claim, Owner } from './claims.ts';
import { type Holder, type RepairPlan, repairPlan } from './repair-plan.ts';

const nowMs = 1_000_000;
const holder = (name: string, ...names: string[]): Holder => ({ namespace: 'n', name, names });
const claim = (name: string, owner: string | undefined, more: Partial<Claim> = {}): Claim => ({
  name,
  owner: owner === undefined ? undefined : { namespace: 'n', name: owner },
  labels: { ours: '' },
  createdMs: nowMs - 61_000,
  object: {} as CachedObject,
  ...more,
});

const ownerText = ({ name }: Owner): string => name;
const texts = (plan: RepairPlan): string[] => [
  ...plan.missing.map(({ name, owner }) => `${ownerText(owner)} gets ${name}`),
  ...plan.wrong.map(({ claim: { name }, owner }) => `${ownerText(owner)} gets ${name} back`),
  ...plan.shared.map(({ claim: { name }, owner }) => `${ownerText(owner)} has ${name}, too`),
  ...plan.leaked.map(({ name }) => `${name} is given back`),
];

const cases: readonly (readonly [
  name: string,
  holders: readonly Holder[],
  claims: readonly Claim[],
  found: readonly string[],
])[] = [
  ['nothing where both say the same', [holder('a', '1', '2')], [claim('1', 'a'), claim('2', 'a')], []],
  ['a record that is missing', [holder('a', '1')], [], ['a gets 1']],
  [
    'a record of another that does not hold it',
    [holder('a', '1'), holder('b')],
    [claim('1', 'b')],
    ['a gets 1 back'],
  ],
  ['a record of one that is gone', [holder('a', '1')], [claim('1', 'b')], ['a gets 1 back']],
  ['a record of no Service', [holder('a', '1')], [claim('1', undefined)], ['a gets 1 back']],
  ['two that hold one', [holder('a', '1'), holder('b', '1')], [claim('1', 'a')], ['b has 1, too']],
  [
    'two that hold one without a record: the first gets it',
    [holder('a', '1'), holder('b', '1')],
    [],
    ['a gets 1'],
  ],
  ['a record that nobody holds', [], [claim('1', 'a')], ['1 is given back']],
  [
    'a record that its Service does not hold',
    [holder('a', '2')],
    [claim('1', 'a'), claim('2', 'a')],
    ['1 is given back'],
  ],
  [
    'nothing of a record whose Service may be on its way',
    [],
    [claim('1', 'a', { createdMs: nowMs - 60_000 })],
    [],
  ],
  ['nothing of a record that others made', [], [claim('1', undefined, { labels: {} })], []],
];

for (const [name, holders, claims, found] of cases)
  test(`a repair finds ${name}`, () => {
    const plan = repairPlan(holders, claims, { nowMs, isOurs: ({ labels }) => labels['ours'] !== undefined });
    assert.deepEqual(texts(plan), found);
  });
