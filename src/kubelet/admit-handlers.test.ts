// Which pods the node lets in beside those that it has, in upstream's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { admitPod, dependsOnNode, type KnownNode } from './admit-handlers.ts';
import { aContainer, aPod } from './testing/observed-builder.ts';

const room = { milliCpu: 1000, memoryBytes: 1 << 30, pods: 3 };
const everyPod = { admit: () => undefined };
const aNode = (more: Partial<KnownNode> = {}): KnownNode => ({
  metadata: { name: 'n', labels: { disk: 'ssd' } },
  spec: {},
  ...more,
});
const asks = (requests: Record<string, string>, spec: Partial<Pod['spec']> = {}): Pod =>
  aPod({ containers: [aContainer('main', { resources: { requests } })], ...spec });
const onPort = (hostPort: number): Pod =>
  aPod({ containers: [aContainer('main', { ports: [{ containerPort: 80, hostPort }] })] });
const answer = (pod: Pod, active: readonly Pod[] = [], node = aNode()) =>
  admitPod(everyPod, room, node, pod, active);

test('room for pods, processors, memory, and what else the node tells that it has', () => {
  assert.equal(answer(asks({ cpu: '1' })), undefined);
  assert.deepEqual(answer(asks({ cpu: '1' }), [asks({ cpu: '1m' })]), {
    reason: 'OutOfcpu',
    message: "Node didn't have enough resource: cpu, requested: 1000, used: 1, capacity: 1000",
  });
  assert.equal(answer(asks({ memory: '2Gi' }))?.reason, 'OutOfmemory');
  assert.equal(answer(aPod(), [aPod(), aPod(), aPod()])?.reason, 'OutOfpods');
  const device = asks({ 'example.com/device': '2' });
  assert.equal(answer(device), undefined, 'who knows nothing of it leaves it to others');
  const node = aNode({ status: { allocatable: { 'example.com/device': '3', 'ephemeral-storage': '1Ki' } } });
  assert.equal(answer(device, [], node), undefined);
  assert.deepEqual(answer(device, [device], node), {
    reason: 'OutOfexample.com/device',
    message: "Node didn't have enough resource: example.com/device, requested: 2, used: 2, capacity: 3",
  });
  assert.equal(answer(asks({ 'ephemeral-storage': '2Ki' }), [], node)?.reason, 'OutOfephemeral-storage');
});

test('labels, ports of the node, and taints that end pods', () => {
  assert.equal(answer(aPod({ nodeSelector: { disk: 'ssd' } })), undefined);
  assert.deepEqual(answer(aPod({ nodeSelector: { disk: 'hdd' } })), {
    reason: 'NodeAffinity',
    message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  });
  assert.equal(answer(onPort(80), [onPort(81)]), undefined);
  assert.deepEqual(answer(onPort(80), [onPort(80)]), {
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
  const tainted = (effect: string) => aNode({ spec: { taints: [{ key: 'k', effect }] } });
  assert.equal(answer(aPod(), [], tainted('NoSchedule')), undefined);
  assert.deepEqual(answer(aPod(), [], tainted('NoExecute')), {
    reason: 'TaintToleration',
    message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  });
  assert.equal(answer(aPod({ tolerations: [{ operator: 'Exists' }] }), [], tainted('NoExecute')), undefined);
});

test('what labels, taints and devices of the node refuse is asked again of the node as it is now', () => {
  const rows = ['NodeAffinity', 'TaintToleration', 'OutOfexample.com/device', 'OutOfcpu', 'NodePorts'];
  assert.deepEqual(
    rows.map((reason) => dependsOnNode({ reason, message: '' })),
    [true, true, true, false, false],
  );
});
