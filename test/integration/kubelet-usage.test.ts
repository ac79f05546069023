// What a kubelet tells of what its pods use while containers end and pods come again under their names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/component-base/system-clock.ts';
import type { ObservedPod } from '../../src/kubelet/observed-pod.ts';
import {
  labelContainerName,
  labelPodName,
  labelPodNamespace,
  labelPodUid,
} from '../../src/kubelet/pod-format.ts';
import { metrics } from '../../src/kubelet/server/metrics-handler.ts';
import type { RouteInput } from '../../src/kubelet/server/route.ts';
import { statsSummary } from '../../src/kubelet/server/stats-handler.ts';
import { aPod, observedContainer } from '../../src/kubelet/testing/observed-builder.ts';
import type { ContainerStats } from '../../src/rpc-api/generated/cri-v1.ts';
import { type Family, readExposition, sampleOf } from '../harness/exposition.ts';

const bootedAtMs = Date.parse('2026-01-01T00:00:00Z');
const createdAtMs = Date.parse('2026-01-02T03:04:05Z');

const life = (uid: string, container: string, attempt: number, seconds: number): ContainerStats => ({
  attributes: {
    id: `${uid}-${container}-${attempt}`,
    metadata: { name: container, attempt },
    labels: {
      [labelPodName]: 'p',
      [labelPodNamespace]: 'ns',
      [labelPodUid]: uid,
      [labelContainerName]: container,
    },
  },
  cpu: { usageCoreNanoSeconds: { value: seconds * 1e9 } },
  memory: { workingSetBytes: { value: seconds << 20 } },
});

/** The pod of this uid, and of all its containers' lives what its worker has seen. */
const worker = (uid: string, lives: readonly ContainerStats[]) => {
  const pod = aPod();
  const containers = lives.flatMap(({ attributes }) => {
    const id = attributes?.id ?? '';
    return id.startsWith(`${uid}-`)
      ? [observedContainer(attributes?.metadata?.name ?? '', { id, createdAtMs })]
      : [];
  });
  const observed: ObservedPod = { sandboxes: [], containers };
  return { uid, pod: { ...pod, metadata: { ...pod.metadata, uid } }, observed };
};

interface Told {
  readonly families: ReadonlyMap<string, Family>;
  readonly summary: {
    readonly node: { readonly startTime: string };
    readonly pods: readonly {
      readonly podRef: { readonly uid: string };
      readonly containers: readonly { readonly name: string; readonly startTime: string }[];
    }[];
  };
}

async function tell(lives: readonly ContainerStats[], uids: readonly string[]): Promise<Told> {
  const workers = uids.map((uid) => worker(uid, lives));
  const input = (part: string): RouteInput => ({
    deps: {
      ctx: {
        clock: systemClock,
        nodeName: 'node-1',
        machine: { bootedAtMs },
        cri: { runtime: { listContainerStats: async () => lives } },
      },
      workers: { list: () => workers, get: (uid: string) => workers.find((one) => one.uid === uid) },
      host: {
        stats: { usage: async () => ({ cpuUsageNs: 1, memoryWorkingSetBytes: 1 }), disk: async () => ({}) },
      },
    } as never,
    request: undefined as never,
    parts: [part],
    query: new URLSearchParams(),
  });
  const [told, summary] = [await metrics(input('resource')), await statsSummary(input('summary'))];
  return {
    families: readExposition(String(told.body)),
    summary: JSON.parse(String(summary.body)),
  };
}

const cpu = 'container_cpu_usage_seconds_total';

test('of a container that has restarted its last life alone is told, in whatever order the runtime tells them', async () => {
  const lives = [
    life('a', 'main', 1, 5),
    life('a', 'main', 2, 7),
    life('a', 'main', 0, 3),
    life('a', 'side', 0, 11),
  ];
  const { families, summary } = await tell(lives, ['a']);
  for (const [container, seconds] of [
    ['main', 7],
    ['side', 11],
  ] as const) {
    const labels = { container, namespace: 'ns', pod: 'p' };
    assert.equal(sampleOf(families, cpu, labels), seconds);
    assert.equal(sampleOf(families, 'container_memory_working_set_bytes', labels), seconds << 20);
    assert.equal(sampleOf(families, 'container_start_time_seconds', labels), createdAtMs / 1000);
  }
  assert.equal(sampleOf(families, 'pod_cpu_usage_seconds_total'), 18);
  assert.deepEqual(
    summary.pods.map(({ containers }) => containers.map(({ name, startTime }) => [name, startTime])),
    [
      [
        ['main', '2026-01-02T03:04:05Z'],
        ['side', '2026-01-02T03:04:05Z'],
      ],
    ],
  );
  assert.equal(summary.node.startTime, '2026-01-01T00:00:00Z');
});

test('a pod that is still being taken away is hidden by the new one of its name, one that the API does not know is not told', async () => {
  const lives = [life('old', 'main', 4, 3), life('new', 'main', 0, 1), life('orphan', 'main', 9, 9)];
  const { families, summary } = await tell(lives, ['old', 'new']);
  assert.equal(sampleOf(families, cpu), 1);
  assert.equal(sampleOf(families, 'pod_cpu_usage_seconds_total'), 1);
  assert.deepEqual(
    summary.pods.map(({ podRef }) => podRef.uid),
    ['new'],
  );
});
