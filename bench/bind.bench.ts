// From create to bound: pods a second through API server, scheduler and controllers, on 100 registered nodes.
import { setTimeout as delay } from 'node:timers/promises';
import { nodes } from '../src/api/generated/resources.ts';
import type { Node } from '../src/api/generated/types/core-v1.ts';
import type { Bench, Measurement } from './bench.ts';
import { pod } from './harness/bodies.ts';
import type { LoadResult } from './harness/load-job.ts';
import { cpuMicros } from './harness/process-cost.ts';
import { type BenchServer, load, startBenchServer } from './harness/servers.ts';

const nodeCount = 100;
const podCount = 3_000;
const collection = '/api/v1/namespaces/default/pods';

async function register(server: BenchServer, name: string): Promise<void> {
  const resources = { cpu: '32', memory: '256Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  const now = new Date().toISOString().replace(/\.\d+/, '');
  await server.client.create(nodes, {
    metadata: { name, labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name } },
  } as unknown as Node);
  const status = {
    capacity: resources,
    allocatable: resources,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      },
    ],
  };
  await server.client.patch(nodes, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
}

const createPods = (server: BenchServer, name: string, spec: object): Promise<LoadResult> =>
  load(server.target, {
    kind: 'requests',
    protocol: 'h2',
    connections: 32,
    total: podCount,
    method: 'POST',
    path: collection,
    contentType: 'application/json',
    body: pod(`${name}-{i}`, spec),
  });

async function allBound(server: BenchServer): Promise<void> {
  const unbound = encodeURIComponent('spec.nodeName=,spec.schedulerName=default-scheduler');
  for (;;) {
    const { body } = await server.client.raw({
      method: 'GET',
      path: `${collection}?limit=1&fieldSelector=${unbound}`,
    });
    if ((JSON.parse(String(body)) as { items: unknown[] }).items.length === 0) return;
    await delay(10);
  }
}

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer();
  try {
    for (let i = 0; i < nodeCount; i++) await register(server, `node-${i}`);
    // The nodes' taints are taken away by a controller; the pods' account is made by another.
    await delay(1_000);
    const alone = await createPods(server, 'alone', { schedulerName: 'nobody' });
    const cpu = cpuMicros(server.target.pid);
    const from = performance.now();
    await createPods(server, 'bound', {});
    await allBound(server);
    const seconds = (performance.now() - from) / 1_000;
    const cost = (cpuMicros(server.target.pid) - cpu) / podCount;
    return [
      {
        what: `create to bound, ${podCount} pods on ${nodeCount} nodes`,
        value: podCount / seconds,
        unit: 'pods/s',
        floor: { what: 'creates alone', value: podCount / (alone.wallMs / 1_000) },
        aim: { value: 1_000, better: 'higher' },
      },
      {
        what: 'CPU of a pod, create to bound',
        value: cost,
        unit: 'µs',
        floor: { what: 'its create alone', value: alone.cpuMicros / podCount },
      },
    ];
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'bind',
  question: 'how many pods a second are created and bound on 100 nodes?',
  run,
};
