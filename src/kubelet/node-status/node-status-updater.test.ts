// A node's status is what its kubelet says: also after the node lifecycle controller said that it is silent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodeStatus } from '../../api/generated/types/core-v1.ts';
import { notFound } from '../../apimachinery/errors.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { Client } from '../../client/client.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { nothingReserved } from '../resources/node-reservation.ts';
import { startNodeStatusUpdater } from './node-status-updater.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what another wrote of the node is put right at the next look; else nothing is sent for five minutes', async (t) => {
  const clock = new FakeClock();
  let node: Node | undefined;
  let patches = 0;
  let problems: string[] = [];
  let images: { names: string[]; sizeBytes: number }[] = [];
  const silent = false;
  const client = {
    create: async (_: unknown, wanted: Node) => {
      node = wanted;
      return node;
    },
    get: async () => {
      if (silent) return new Promise<never>(() => {});
      if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, 'n');
      return node;
    },
    patch: async (_: unknown, __: unknown, { body }: { body: { status: NodeStatus } }) => {
      patches += 1;
      node = { ...node!, status: body.status };
      return node;
    },
  } as unknown as Client;
  const disk = { capacityBytes: 1e9, availableBytes: 1e9, usedBytes: 0, inodes: 1e6, inodesFree: 1e6 };
  const usage = { memoryAvailableBytes: 1e9, memoryWorkingSetBytes: 0, cpuUsageNs: 0, pids: 1 };
  const facts = {
    nodeName: 'n',
    nodeIPs: ['10.0.0.1'],
    nodeOs: createLinuxNodeOs({ osImage: 'x', kernelVersion: '0', labels: {} }),
    machine: { cpuCount: 1, memoryBytes: 1 << 30 },
    disk,
    maxPods: 1,
    reserved: nothingReserved,
    thresholds: [],
  };
  const updater = startNodeStatusUpdater({
    client,
    clock,
    log: silentLogger,
    recorder: { event: () => {} },
    facts,
    health: async () => ({ problems, usage, pressures: [], images }),
  } as unknown as Parameters<typeof startNodeStatusUpdater>[0]);
  t.after(() => updater.stop());
  const look = async (): Promise<void> => {
    clock.advance(10_000);
    for (let i = 0; i < 20; i++) await turn();
  };
  const ready = (): string | undefined =>
    node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  await look();
  await look();
  assert.deepEqual([ready(), patches], ['True', 1]);
  const conditions = node!.status!.conditions!.map((c) => ({ ...c, status: 'Unknown', reason: 'Silent' }));
  node = { ...node!, status: { ...node!.status, conditions } as NodeStatus };
  await look();
  assert.deepEqual([ready(), patches], ['True', 2]);
  // The same condition for another reason is another's word, too.
  node = {
    ...node!,
    status: {
      ...node!.status,
      conditions: node!.status!.conditions!.map((c) => ({ ...c, reason: 'Silent' })),
    } as NodeStatus,
  };
  await look();
  assert.deepEqual([ready(), patches], ['True', 3]);
  for (let i = 0; i < 30; i++) await look();
  assert.equal(patches, 4);
  problems = ['the runtime does not answer'];
  await look();
  assert.deepEqual([ready(), patches], ['False', 5]);
  images = [{ names: ['example.com/x:1'], sizeBytes: 1 }];
  await look();
  assert.equal(node?.status?.images?.[0]?.names?.[0], 'example.com/x:1');
  assert.equal(patches, 6);
  // Somebody deleted it: that is not for the kubelet to undo.
  node = undefined;
  await look();
  await look();
  assert.deepEqual([node, patches], [undefined, 6]);
});
