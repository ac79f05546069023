// Upstream's cases of its replica calculator.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import {
  type PodMetrics,
  perPodReplicas,
  plainReplicas,
  requestsOf,
  resourceReplicas,
  totalReplicas,
  type Workload,
} from './replica-calculator.ts';

const now = Date.parse('2026-06-01T12:00:00Z');
const at = (ms: number): string => new Date(ms).toISOString();
const minute = 60_000;
const tolerances = { up: 0.1, down: 0.1 };

interface Case {
  /** One letter a pod: Ready, Unready, Hot (started a minute ago, ready for less than a window), Pending, Failed, Deleted. */
  readonly pods: string;
  /** In thousandths of a processor; pods without one are not measured. */
  readonly levels: readonly (number | undefined)[];
  readonly target: number;
  readonly current?: number;
  readonly requests?: readonly number[];
  readonly resource?: string;
}

function podOf(letter: string, i: number, request: number): Pod {
  const isHot = letter === 'H';
  const startTime = at(isHot ? now - minute : now - 60 * minute);
  const status = letter === 'U' ? 'False' : 'True';
  // One that has been ready is told apart from one that never was by when that changed.
  const changed = letter === 'U' ? now - 60 * minute : isHot ? now - 10_000 : now - 30 * minute;
  const phase = letter === 'P' ? 'Pending' : letter === 'F' ? 'Failed' : 'Running';
  return {
    metadata: { name: `p${i}`, ...(letter === 'D' ? { deletionTimestamp: at(now) } : {}) },
    spec: {
      containers: [
        { name: 'a', resources: { requests: { cpu: `${request / 2}m`, memory: `${request / 2}m` } } },
        { name: 'b', resources: { requests: { cpu: `${request / 2}m`, memory: `${request / 2}m` } } },
      ],
    },
    status: {
      phase,
      startTime,
      conditions: [{ type: 'Ready', status, lastTransitionTime: at(changed) }],
    },
  };
}

function question({ pods, levels, current = pods.length, requests = [] }: Case) {
  const workload: Workload = {
    pods: [...pods].map((letter, i) => podOf(letter, i, requests[i] ?? 1000)),
    nowMs: now,
    cpuInitializationMs: 5 * minute,
    initialReadinessMs: 30_000,
  };
  const metrics: PodMetrics = new Map(
    levels.flatMap((value, i) =>
      value === undefined ? [] : [[`p${i}`, { value, atMs: now, windowMs: minute }] as const],
    ),
  );
  return { workload, metrics, current, tolerances };
}

type Row = readonly [name: string, of: Case, expected: readonly [replicas: number, percent: number] | string];

const rows: readonly Row[] = [
  ['scale up', { pods: 'RRR', levels: [300, 500, 700], target: 30 }, [5, 50]],
  ['unready pods hold back growth', { pods: 'URR', levels: [300, 500, 700], target: 30 }, [4, 60]],
  ['so do hot ones', { pods: 'RHR', levels: [500, 300, 700], target: 30 }, [4, 60]],
  ['and those that wait', { pods: 'RPP', levels: [400], target: 30 }, [3, 40]],
  [
    'growth that unready pods would turn is none',
    { pods: 'RUU', levels: [400, 500, 700], target: 30 },
    [3, 40],
  ],
  [
    'failed pods do not count',
    { pods: 'RRFF', levels: [500, 700, undefined, undefined], target: 30, current: 2 },
    [4, 60],
  ],
  [
    'nor those that are deleted',
    { pods: 'RRDD', levels: [500, 700, 900, 900], target: 30, current: 2 },
    [4, 60],
  ],
  ['scale down', { pods: 'RRRRR', levels: [100, 300, 500, 250, 250], target: 50 }, [3, 28]],
  [
    'scale down without the unready',
    { pods: 'RRRUU', levels: [100, 300, 500, 250, 250], target: 50 },
    [2, 30],
  ],
  [
    'within the tolerance',
    { pods: 'RRR', levels: [1010, 1030, 1020], requests: [900, 1000, 1100], target: 100 },
    [3, 102],
  ],
  ['missing, at the target', { pods: 'RR', levels: [1000], target: 100 }, [2, 100]],
  ['missing, above', { pods: 'RR', levels: [1900], target: 100 }, [2, 190]],
  ['missing, below', { pods: 'RR', levels: [600], target: 100 }, [2, 60]],
  [
    'missing ones use all that they requested',
    { pods: 'RRRRR', levels: [400, 950, undefined, undefined, 800], target: 100 },
    [5, 71],
  ],
  [
    'or their target, where that is more',
    { pods: 'RRR', levels: [900, 900, undefined], target: 300 },
    [2, 90],
  ],
  [
    'superfluous metrics are of nobody',
    { pods: 'RRRR', levels: [300, 500, 700, 900, 5000], target: 30 },
    [8, 60],
  ],
  [
    'no pods',
    { pods: '', levels: [], target: 30 },
    'no pods returned by selector while calculating replica count',
  ],
  [
    'nothing measured of pods that are ready',
    { pods: 'UU', levels: [1, 1], target: 30 },
    'did not receive metrics for targeted pods (pods might be unready)',
  ],
];

for (const [name, of, expected] of rows)
  test(`utilization: ${name}`, () => {
    const asked = resourceReplicas(question(of), { resource: 'cpu', container: '', target: of.target });
    assert.deepEqual(typeof asked === 'string' ? asked : [asked.replicas, asked.utilization], expected);
  });

test('of memory it does not matter whether a pod is ready', () => {
  const asked = resourceReplicas(question({ pods: 'UUR', levels: [300, 500, 700], target: 30 }), {
    resource: 'memory',
    container: '',
    target: 30,
  });
  assert.equal(typeof asked === 'string' ? asked : asked.replicas, 5);
});

const plain: readonly (readonly [name: string, of: Case, expected: readonly [number, number]])[] = [
  ['scale up', { pods: 'RRR', levels: [20_000, 10_000, 30_000], target: 15_000 }, [4, 20_000]],
  [
    'scale down',
    { pods: 'RRRRR', levels: [12_000, 12_000, 12_000, 12_000, 12_000], target: 20_000 },
    [3, 12_000],
  ],
  ['within the tolerance', { pods: 'RRR', levels: [20_000, 21_000, 21_000], target: 20_000 }, [3, 20_666]],
  ['pods that wait hold back growth', { pods: 'RRP', levels: [50_000, 10_000], target: 15_000 }, [4, 30_000]],
  ['missing ones use their target', { pods: 'RRR', levels: [4_000, 4_000], target: 10_000 }, [2, 4_000]],
  ['or nothing', { pods: 'RRR', levels: [30_000, 30_000], target: 10_000 }, [6, 30_000]],
];
for (const [name, of, expected] of plain)
  test(`of each pod: ${name}`, () => {
    const asked = plainReplicas(question(of), { resource: '', target: of.target });
    assert.deepEqual(typeof asked === 'string' ? asked : [asked.replicas, asked.usage], expected);
  });

test('of a whole: as many as are ready times how much too much it is; from none as many as it says', () => {
  const of = (pods: string, usage: number, target: number, current = pods.length): unknown => {
    const asked = totalReplicas(question({ pods, levels: [], target, current }), usage, target);
    return typeof asked === 'string' ? asked : asked.replicas;
  };
  assert.equal(of('RRR', 20_000, 15_000), 4);
  assert.equal(of('RRU', 30_000, 15_000), 4);
  assert.equal(of('RRR', 15_500, 15_000), 3);
  assert.equal(of('RRRRR', 6_000, 20_000), 2);
  assert.equal(of('', 30_000, 15_000, 0), 2);
  assert.equal(of('', 0, 15_000, 0), 0);
  assert.equal(of('RRR', 1e18, 1), 2 ** 31 - 1);
  assert.equal(
    of('', 30_000, 15_000, 3),
    'unable to calculate ready pods: no pods returned by selector while calculating replica count',
  );
});

test('of a part of each: what the whole is worth, whatever is ready', () => {
  const of = (current: number, usage: number, target: number) =>
    perPodReplicas(current, tolerances, usage, target);
  assert.deepEqual(of(3, 20_000, 5_000), { replicas: 4, usage: 6_667 });
  assert.deepEqual(of(4, 20_000, 5_100), { replicas: 4, usage: 5_000 });
  assert.deepEqual(of(5, 8_600, 3_000), { replicas: 3, usage: 1_720 });
  assert.deepEqual(of(0, 8_600, 3_000).replicas, 3);
  assert.equal(of(1, Number.MAX_SAFE_INTEGER, 1).replicas, 2 ** 31 - 1);
});

test('what is tolerated may differ between more and less', () => {
  const asked = (levels: number[], up: number, down: number): number => {
    const of = { ...question({ pods: 'RR', levels, target: 50 }), tolerances: { up, down } };
    const found = resourceReplicas(of, { resource: 'cpu', container: '', target: 50 });
    return typeof found === 'string' ? -1 : found.replicas;
  };
  assert.deepEqual([asked([530, 530], 0.05, 0.1), asked([530, 530], 0.1, 0.1)], [3, 2]);
  assert.deepEqual([asked([200, 200], 0, 0.7), asked([200, 200], 0, 0.5)], [2, 1]);
});

test('requests: of all containers and sidecars, of one, of the pod as a whole, or what is missing', () => {
  const pod = (spec: Partial<Pod['spec']>): Pod[] => [
    { metadata: { name: 'p' }, spec: { containers: [{ name: 'a' }], ...spec } } as Pod,
  ];
  const cpu = (amount: string) => ({ requests: { cpu: amount } });
  const ofAll = (spec: Partial<Pod['spec']>, container = ''): unknown => {
    const found = requestsOf(pod(spec), container, 'cpu');
    return typeof found === 'string' ? found : found.get('p');
  };
  const containers = [{ name: 'a', resources: cpu('100m') }];
  const initContainers = [{ name: 'i' }, { name: 's', restartPolicy: 'Always', resources: cpu('50m') }];
  assert.equal(ofAll({ containers, initContainers }), 150);
  assert.equal(ofAll({ containers, initContainers }, 's'), 50);
  assert.equal(ofAll({ containers, resources: cpu('2') }), 2000);
  assert.equal(ofAll({ containers, resources: cpu('2') }, 'a'), 100);
  assert.equal(ofAll({}), 'missing request for cpu in container a of Pod p');
  assert.equal(ofAll({ containers }, 'x'), 'container x not found in Pod p');
  assert.equal(
    ofAll({ resources: { requests: { memory: '1' } } }),
    'missing pod-level request for cpu in Pod p',
  );
});
