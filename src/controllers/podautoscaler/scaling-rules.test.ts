// How recommendations are held back and rates are kept: upstream's cases of behaviors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type History,
  newHistory,
  type Rules,
  type Wish,
  withBehavior,
  withChange,
  withoutBehavior,
} from './scaling-rules.ts';

const now = 10_000_000;
const ago = (seconds: number): number => now - seconds * 1000;
const none: History = { recommendations: [], ups: [], downs: [] };
const wish = (current: number, wanted: number, more: Partial<Wish> = {}): Wish => ({
  ...{ current, wanted, min: 1, max: 1000, nowMs: now, history: none },
  ...more,
});
const rules = (more: Partial<Rules> = {}): Rules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 60 }],
  ...more,
});
const policy = (type: string, value: number, periodSeconds = 60) => ({ type, value, periodSeconds });
const recommended = (...all: readonly [replicas: number, secondsAgo: number][]): History => ({
  ...none,
  recommendations: all.map(([replicas, seconds]) => ({ replicas, atMs: ago(seconds) })),
});

test('without a behavior: twice as many or four, never beyond the bounds', () => {
  const of = (...[current, wanted, more]: Parameters<typeof wish>) => {
    const { replicas, limit } = withoutBehavior(wish(current, wanted, more), 300_000);
    return [replicas, limit.reason, limit.isLimited];
  };
  assert.deepEqual(of(1, 3), [3, 'DesiredWithinRange', false]);
  assert.deepEqual(of(1, 30), [4, 'ScaleUpLimit', true]);
  assert.deepEqual(of(10, 30), [20, 'ScaleUpLimit', true]);
  assert.deepEqual(of(10, 30, { max: 15 }), [15, 'TooManyReplicas', true]);
  assert.deepEqual(of(10, 0, { min: 2 }), [2, 'TooFewReplicas', true]);
});

test('without a behavior: the highest recommendation of the window holds', () => {
  const history = recommended([5, 400], [4, 200], [3, 100]);
  const { replicas, able, history: after } = withoutBehavior(wish(4, 2, { history }), 300_000);
  assert.deepEqual([replicas, able.reason], [4, 'ScaleDownStabilized']);
  assert.deepEqual(
    after.recommendations.map((one) => one.replicas),
    [4, 3, 2],
  );
  assert.equal(withoutBehavior(wish(4, 2, { history: recommended([5, 400]) }), 300_000).replicas, 2);
});

test('an autoscaler that is seen for the first time is as if it had wanted what there is', () => {
  const history = newHistory(5, now);
  assert.equal(withoutBehavior(wish(5, 1, { history }), 300_000).replicas, 5);
});

test('windows: what is lowest holds growth, what is highest holds the opposite', () => {
  const up = rules({ stabilizationWindowSeconds: 60, policies: [policy('Percent', 1000)] });
  const down = rules({ stabilizationWindowSeconds: 300 });
  const of = (current: number, wanted: number, history: History) => {
    const { replicas, able } = withBehavior(wish(current, wanted, { history }), up, down);
    return [replicas, able.reason];
  };
  assert.deepEqual(of(4, 10, recommended([6, 30])), [6, 'ScaleUpStabilized']);
  assert.deepEqual(of(4, 10, recommended([6, 90])), [10, 'ReadyForNewScale']);
  assert.deepEqual(of(4, 10, recommended([2, 30])), [4, 'ScaleUpStabilized']);
  assert.deepEqual(of(8, 2, recommended([6, 200])), [6, 'ScaleDownStabilized']);
  assert.deepEqual(of(8, 2, recommended([6, 400])), [2, 'ReadyForNewScale']);
  assert.deepEqual(of(8, 2, recommended([10, 200])), [8, 'ScaleDownStabilized']);
});

type Row = readonly [
  name: string,
  of: { readonly current: number; readonly wanted: number } & Partial<Wish>,
  up: Partial<Rules>,
  down: Partial<Rules>,
  expected: readonly [replicas: number, reason: string],
];
const grown = (...all: readonly [by: number, secondsAgo: number][]): History => ({
  ...none,
  ups: all.map(([by, seconds]) => ({ by, atMs: ago(seconds) })),
});
const shrunk = (...all: readonly [by: number, secondsAgo: number][]): History => ({
  ...none,
  downs: all.map(([by, seconds]) => ({ by, atMs: ago(seconds) })),
});
const rows: readonly Row[] = [
  [
    'percent, rounded up',
    { current: 3, wanted: 50 },
    { policies: [policy('Percent', 10)] },
    {},
    [4, 'ScaleUpLimit'],
  ],
  ['pods', { current: 3, wanted: 50 }, { policies: [policy('Pods', 5)] }, {}, [8, 'ScaleUpLimit']],
  [
    'the largest change of several',
    { current: 10, wanted: 50 },
    { policies: [policy('Pods', 4), policy('Percent', 100)] },
    {},
    [20, 'ScaleUpLimit'],
  ],
  [
    'or the smallest',
    { current: 10, wanted: 50 },
    { selectPolicy: 'Min', policies: [policy('Pods', 4), policy('Percent', 100)] },
    {},
    [14, 'ScaleUpLimit'],
  ],
  ['or none', { current: 10, wanted: 50 }, { selectPolicy: 'Disabled' }, {}, [10, 'ScaleUpLimit']],
  [
    'what was added in the period counts',
    { current: 8, wanted: 50, history: grown([3, 30], [9, 90]) },
    { policies: [policy('Pods', 4)] },
    {},
    [9, 'ScaleUpLimit'],
  ],
  [
    'and is never taken back for it',
    { current: 20, wanted: 50, history: grown([10, 30]) },
    { policies: [policy('Pods', 4)] },
    {},
    [20, 'ScaleUpLimit'],
  ],
  [
    'what was taken away in the period may come back',
    { current: 4, wanted: 50, history: shrunk([6, 30]) },
    { policies: [policy('Pods', 4)] },
    {},
    [14, 'ScaleUpLimit'],
  ],
  ['more than the most', { current: 3, wanted: 50, max: 5 }, {}, {}, [5, 'TooManyReplicas']],
  [
    'percent down',
    { current: 10, wanted: 1 },
    {},
    { policies: [policy('Percent', 20)] },
    [8, 'ScaleDownLimit'],
  ],
  [
    'rounded down',
    { current: 5, wanted: 1 },
    {},
    { policies: [policy('Percent', 10)] },
    [4, 'ScaleDownLimit'],
  ],
  ['pods down', { current: 10, wanted: 1 }, {}, { policies: [policy('Pods', 3)] }, [7, 'ScaleDownLimit']],
  [
    'the smallest change down',
    { current: 100, wanted: 1 },
    {},
    { selectPolicy: 'Min', policies: [policy('Pods', 3), policy('Percent', 50)] },
    [97, 'ScaleDownLimit'],
  ],
  ['none down', { current: 10, wanted: 1 }, {}, { selectPolicy: 'Disabled' }, [10, 'ScaleDownLimit']],
  [
    'what was taken away in the period counts',
    { current: 8, wanted: 1, history: shrunk([2, 30]) },
    {},
    { policies: [policy('Pods', 3)] },
    [7, 'ScaleDownLimit'],
  ],
  ['fewer than the fewest', { current: 10, wanted: 1, min: 2 }, {}, {}, [2, 'TooFewReplicas']],
  ['within all', { current: 10, wanted: 12 }, {}, {}, [12, 'DesiredWithinRange']],
];
for (const [name, { current, wanted, ...more }, up, down, expected] of rows)
  test(`rates: ${name}`, () => {
    const { replicas, limit } = withBehavior(wish(current, wanted, more), rules(up), rules(down));
    assert.deepEqual([replicas, limit.reason], expected);
  });

test('changes are remembered as long as the longest policy looks back', () => {
  const up = rules({ policies: [policy('Pods', 4, 60), policy('Percent', 10, 120)] });
  const change = { before: 3, after: 5, nowMs: now };
  const after = withChange(grown([1, 100], [2, 200]), change, up, rules());
  assert.deepEqual(
    after.ups.map(({ by }) => by),
    [1, 2],
  );
  const down = withChange(after, { before: 5, after: 2, nowMs: now }, up, rules());
  assert.deepEqual(
    down.downs.map(({ by }) => by),
    [3],
  );
});
