// What a pod has beside what it asks for, and who is heard first.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { admitResize } from '../admit-handlers.ts';
import { aContainer, aPod, observedContainer, observedPod } from '../testing/observed-builder.ts';
import { actualResources, asItRuns, changeOf } from './actual-resources.ts';
import {
  asksForMore,
  differsFrom,
  toldAllocation,
  wholeAllocation,
  withAllocation,
} from './pod-allocation.ts';
import { podCgroupLimits, widestLimits } from './qos.ts';
import { byTurn } from './resize-order.ts';

const requests = (cpu: string, memory = '64Mi') => ({ requests: { cpu, memory } });
const podWith = (cpu: string, more: Partial<Pod['spec']> = {}): Pod =>
  aPod({
    containers: [aContainer('main', { resources: requests(cpu) })],
    initContainers: [
      aContainer('sidecar', { restartPolicy: 'Always', resources: requests('10m') }),
      aContainer('init', { resources: requests('10m') }),
    ],
    ...more,
  });

test('the pod as the node holds it has what was given, of containers and sidecars, and all else as it asks', () => {
  const has = wholeAllocation(podWith('100m'));
  const asks = podWith('200m', { hostname: 'h' });
  assert.equal(differsFrom(asks, has), true);
  const held = withAllocation(asks, has);
  assert.deepEqual(held.spec, podWith('100m', { hostname: 'h' }).spec);
  assert.equal(withAllocation(podWith('0.1'), has).spec.containers[0]?.resources?.requests?.['cpu'], '0.1');
  assert.deepEqual([asksForMore(asks, has), asksForMore(podWith('50m'), has)], [true, false]);
});

test('of a kubelet of before it counts what it told; of what it never told, what is asked for', () => {
  const asks = podWith('200m');
  const status = {
    name: 'main',
    resources: requests('100m'),
    ready: true,
    restartCount: 0,
    image: '',
    imageID: '',
  };
  const told = toldAllocation({ ...asks, status: { containerStatuses: [status] } });
  assert.deepEqual(
    [...told.containers],
    [
      ['sidecar', requests('10m')],
      ['main', requests('100m')],
    ],
  );
});

test('a change is seen by what the runtime tells; quotas of another period are the same share', () => {
  const wanted = { cpuShares: 102, cpuPeriod: 100_000, cpuQuota: 20_000, memoryLimitInBytes: 1 << 20 };
  assert.equal(changeOf({ ...wanted, cpuPeriod: 50_000, cpuQuota: 10_000 }, wanted), undefined);
  assert.deepEqual(changeOf({ ...wanted, memoryLimitInBytes: 2 << 20 }, wanted), {
    cpu: false,
    memory: true,
    shrinks: true,
    lessMemoryBytes: 1 << 20,
  });
  assert.equal(changeOf(undefined, wanted)?.cpu, true);
  const runs = asItRuns(
    aPod({ containers: [aContainer('main', { resources: { limits: { cpu: '200m', memory: '1Mi' } } })] }),
    observedPod([observedContainer('main', { resources: { ...wanted, memoryLimitInBytes: 2 << 20 } })]),
  );
  assert.deepEqual(runs.spec.containers[0]?.resources?.limits, { cpu: '200m', memory: '2Mi' });
  // A request of less than a share is what was asked for, not what is left of it.
  assert.deepEqual(actualResources({ requests: { cpu: '1m' } }, { cpuShares: 2 }), {
    requests: { cpu: '1m' },
  });
});

test("while its containers change, a pod's group has room for the larger of both", () => {
  const limited = (cpu: string, memory: string): Pod =>
    aPod({ containers: [aContainer('main', { resources: { limits: { cpu, memory }, requests: { cpu } } })] });
  const both = widestLimits(podCgroupLimits(limited('100m', '2Mi')), podCgroupLimits(limited('200m', '1Mi')));
  assert.deepEqual(both, { cpuShares: 204, cpuQuotaUs: 20_000, memoryLimitBytes: 2 << 20 });
  assert.equal(widestLimits(both, podCgroupLimits(podWith('1'))).cpuQuotaUs, undefined);
});

test('who gives back is heard first, then the more important, the guaranteed, and who has waited longest', () => {
  const guaranteed = { limits: { cpu: '1', memory: '1Mi' }, requests: { cpu: '1', memory: '1Mi' } };
  const rows = [
    { name: 'gives', pod: podWith('1'), grows: false, sinceMs: 9 },
    { name: 'important', pod: podWith('1', { priority: 7 }), grows: true, sinceMs: 9 },
    {
      name: 'guaranteed',
      pod: aPod({ containers: [aContainer('main', { resources: guaranteed })] }),
      grows: true,
      sinceMs: 9,
    },
    { name: 'waited', pod: podWith('1'), grows: true, sinceMs: 1 },
    { name: 'last', pod: podWith('1'), grows: true, sinceMs: 9 },
  ];
  assert.deepEqual(rows.toReversed().sort(byTurn), rows);
});

test('a node that can not change what runs says that it never will', () => {
  const room = { milliCpu: 1000, memoryBytes: 1 << 30, pods: 10 };
  assert.deepEqual(admitResize({}, room, podWith('1m'), []), {
    reason: 'Infeasible',
    message: 'In-place pod resize is not supported on Windows',
  });
  const linux = { containerResources: () => ({}) };
  assert.equal(admitResize(linux, room, podWith('900m'), [podWith('80m')]), undefined);
  assert.equal(admitResize(linux, room, podWith('900m'), [podWith('200m')])?.reason, 'Deferred');
  assert.equal(admitResize(linux, room, podWith('1001m'), [])?.reason, 'Infeasible');
});
