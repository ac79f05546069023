// What simulated pods say that they use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { pretendedNodeUsage, pretendedOf, pretendedPodUsage } from './pretended-usage.ts';

const since = '2026-01-01T00:00:00Z';
const sinceMs = Date.parse(since);

const pod = (annotations: Record<string, string>, more: JsonObject = {}): JsonObject => ({
  metadata: { name: 'web', annotations },
  spec: {
    containers: [
      { name: 'main', resources: { requests: { cpu: '200m', memory: '64Mi' } } },
      { name: 'plain' },
    ],
    initContainers: [{ name: 'init' }, { name: 'side', restartPolicy: 'Always' }],
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }] },
  ...more,
});
const told = (object: JsonObject) =>
  pretendedOf(object)?.containers.map(({ name, cpuNanoCores, memoryBytes }) => [
    name,
    cpuNanoCores,
    memoryBytes,
  ]);

test('half of what is requested, or next to nothing', () => {
  assert.deepEqual(told(pod({})), [
    ['main', 100_000_000, 32 << 20],
    ['plain', 1_000_000, 16 << 20],
    ['side', 1_000_000, 16 << 20],
  ]);
});

test('what annotations say is shared by the containers; what can not be read says nothing', () => {
  const annotations = {
    'porthole.dev/simulated-cpu-usage': '300m',
    'porthole.dev/simulated-memory-usage': '3Mi',
  };
  assert.deepEqual(told(pod(annotations))?.[1], ['plain', 100_000_000, 1 << 20]);
  for (const bad of ['-1', 'lots', ''])
    assert.deepEqual(told(pod({ 'porthole.dev/simulated-cpu-usage': bad })), told(pod({})));
  assert.deepEqual(told(pod({ 'porthole.dev/simulated-cpu-usage': '0' }))?.[0], ['main', 0, 32 << 20]);
  const endless = told(pod({ 'porthole.dev/simulated-cpu-usage': '9E' }))?.[0]?.[1];
  assert.ok(Number.isSafeInteger(endless));
});

test('pods that do not run use nothing', () => {
  assert.equal(pretendedOf(pod({}, { status: { phase: 'Pending' } })), undefined);
  assert.equal(pretendedOf(pod({}, { metadata: { deletionTimestamp: since } })), undefined);
  assert.equal(pretendedOf(pod({}, { status: { phase: 'Running', conditions: [] } })), undefined);
});

test('the window ends in this second, and begins no earlier than the pod was ready', () => {
  const pretends = pretendedOf(pod({}))!;
  const windowAfter = (ms: number): number => pretendedPodUsage(pretends, sinceMs + ms).windowMs;
  assert.deepEqual([100, 4_900, 60_000].map(windowAfter), [1_000, 4_000, 15_000]);
  assert.equal(pretendedPodUsage(pretends, sinceMs + 4_900).atMs, sinceMs + 4_000);
});

test('a node uses what its pods do, and a little for itself', () => {
  const two = [pretendedOf(pod({}))!, pretendedOf(pod({}))!];
  const { cpuNanoCores, memoryBytes } = pretendedNodeUsage(two, sinceMs);
  assert.deepEqual([cpuNanoCores, memoryBytes >> 20], [254_000_000, 256 + 128]);
});
