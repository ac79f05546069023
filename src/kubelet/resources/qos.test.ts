// The cgroups of a pod hold what its status promises, whether its containers have limits or the pod as a whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, ResourceRequirements } from '../../api/generated/types/core-v1.ts';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { aPod } from '../testing/observed-builder.ts';
import * as qos from './qos.ts';

const pod = (own: ResourceRequirements, ...containers: readonly ResourceRequirements[]): Pod =>
  aPod({
    resources: own,
    containers: containers.map((resources, i) => ({ name: `c${i}`, image: 'i', resources })),
  });
const mi = 2 ** 20;

test('resources of the pod as a whole are those of its cgroup and of its class', () => {
  const both = { cpu: '100m', memory: '32Mi' };
  const guaranteed = pod({ limits: both, requests: both }, {}, { limits: { memory: '8Mi' } });
  assert.equal(qos.podCgroup(guaranteed, ''), `/kubepods/pod${guaranteed.metadata.uid}`);
  assert.deepEqual(qos.podCgroupLimits(guaranteed), {
    cpuShares: 102,
    cpuQuotaUs: 10_000,
    memoryLimitBytes: 32 * mi,
  });
  const burstable = pod({ limits: { memory: '32Mi' }, requests: { memory: '16Mi' } }, {});
  assert.equal(qos.podCgroup(burstable, ''), `/kubepods/burstable/pod${burstable.metadata.uid}`);
  assert.deepEqual(qos.podCgroupLimits(burstable), {
    cpuShares: 2,
    cpuQuotaUs: undefined,
    memoryLimitBytes: 32 * mi,
  });
  assert.deepEqual(qos.podDemand(guaranteed), { milliCpu: 100, memoryBytes: 32 * mi });
});

test('a container without a limit has that of its pod', () => {
  const shared = pod({ limits: { memory: '32Mi', cpu: '1' } }, {}, { limits: { memory: '8Mi' } });
  const [free, own] = shared.spec.containers;
  assert.deepEqual(qos.containerLimits(shared, free!), { milliCpu: 1000, memoryBytes: 32 * mi });
  assert.deepEqual(qos.containerLimits(shared, own!), { milliCpu: 1000, memoryBytes: 8 * mi });
});

test('memory that the pod asks for beyond its containers saves each of them a part', () => {
  const requests = { memory: '512Mi' };
  const shared = pod({ requests }, {}, { requests: { memory: '256Mi' } });
  const [without, asking] = shared.spec.containers;
  assert.equal(qos.oomScoreAdjust(shared, without!, 1024 * mi), 875);
  assert.equal(qos.oomScoreAdjust(shared, asking!, 1024 * mi), 625);
});

test('limits of containers make one of the pod when each has one', () => {
  const limits = { cpu: '1', memory: '1Mi' };
  assert.deepEqual(qos.podCgroupLimits(pod({}, { limits }, { limits })), {
    cpuShares: 2,
    cpuQuotaUs: 200_000,
    memoryLimitBytes: 2 * mi,
  });
  assert.equal(qos.podCgroupLimits(pod({}, { limits }, {})).memoryLimitBytes, undefined);
});

test('a Windows node, which has no group for a pod, refuses one with resources of its own', () => {
  const node = createWindowsNodeOs({
    build: 26100,
    osImage: 'w',
    kernelVersion: '10.0',
    emulated: true,
    hostDrive: '/drive-c',
  });
  const refused = node.admit(pod({ limits: { memory: '1Gi' } }, {}));
  assert.equal(refused?.reason, 'PodLevelResourcesNotSupported');
  assert.equal(node.admit(pod({}, {})), undefined);
});
