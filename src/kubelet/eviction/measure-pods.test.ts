// One pod that can't be measured neither keeps others from being evicted nor escapes its own limit by it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import type { Beneath, FolderUsage } from '../../os/beneath.ts';
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodUid } from '../pod-format.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { rankedForEviction } from './choose-pod.ts';
import { type Eviction, startEvictionManager } from './eviction-manager.ts';
import { createPodMeter, type MeasurePodsDeps, type PodMeter } from './measure-pods.ts';
import { hidesFromLimit, storageExcess } from './pod-usage.ts';
import { parseThresholds } from './thresholds.ts';

const mi = 1 << 20;
const podOf = (name: string, volume: object = {}, container: object = {}): Pod => ({
  ...aPod({ containers: [aContainer('main', container)], volumes: [{ name: 'x', emptyDir: volume }] }),
  metadata: { name, namespace: 'ns', uid: name },
});
const small = { sizeLimit: '1Mi' };

type Answer = (withinMs: number, folders: readonly string[]) => Promise<readonly FolderUsage[]>;
const all = (folders: readonly string[], usage: FolderUsage): FolderUsage[] => folders.map(() => usage);

interface Asked {
  readonly uid: string;
  readonly withinMs: number;
}

/** A disk that answers for each pod as told; all are evicted of whom the manager says so. */
function aNode(pods: readonly Pod[], answers: Record<string, Answer>, more: Partial<MeasurePodsDeps> = {}) {
  const clock = new FakeClock();
  const asked: Asked[] = [];
  const evicted: Eviction[] = [];
  const active = (): Pod[] => pods.filter((pod) => !evicted.some((eviction) => eviction.pod === pod));
  const usage: Beneath['usage'] = (folders, withinMs) => {
    const uid = /^\/pods\/([^/]+)/.exec(folders[0]!)![1]!;
    asked.push({ uid, withinMs });
    return answers[uid]!(withinMs, folders);
  };
  const meter: PodMeter = createPodMeter({
    clock,
    log: silentLogger,
    runtime: { listContainerStats: async () => [] },
    beneath: { usage },
    storage: { podDir: (uid) => `/pods/${uid}`, logDirectory: (pod) => `/pods/${pod.metadata.uid}/logs` },
    keptOf: (id) => [`/kept/${id}`],
    hasMemoryVolumes: true,
    active,
    ...more,
  });
  const start = (node: () => Promise<never>): (() => Promise<void>) =>
    startEvictionManager({
      clock,
      log: silentLogger,
      thresholds: parseThresholds('nodefs.available<1Gi'),
      node,
      active,
      measure: meter.measure,
      evict: async (eviction) => void evicted.push(eviction),
      announce: () => {},
      conditionsChanged: () => {},
    }).stop;
  return { clock, asked, evicted, meter, start };
}

const turn = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
};
const much: Answer = async (_, folders) => all(folders, { bytes: 2 * mi, inodes: 1 });
const little: Answer = async (_, folders) => all(folders, { bytes: 1, inodes: 1 });
const endless: Answer = async (withinMs, folders) =>
  all(folders, { bytes: 0, inodes: withinMs * 1000, uncounted: 'late' });
const unreadable: Answer = async (_, folders) => all(folders, { bytes: 0, inodes: 1, uncounted: 'unread' });
const failing: Answer = async () => {
  throw new Error('spawn EAGAIN');
};
const silent: Answer = () => new Promise(() => {});
const names = (evicted: readonly Eviction[]): (string | undefined)[] =>
  evicted.map(({ pod }) => pod.metadata.name).sort();
const unmeasurableNode = async (): Promise<never> => {
  throw new Error('no such disk');
};

test('who is over a limit is evicted whatever other pods and the node itself can’t be asked', async (t) => {
  const pods = ['endless', 'failing', 'silent', 'unreadable', 'over', 'within'].map((n) => podOf(n, small));
  const answers = { endless, failing, silent, unreadable, over: much, within: little };
  const { clock, evicted, meter, start } = aNode(pods, answers);
  const stop = start(unmeasurableNode);
  t.after(stop);
  t.after(() => meter.stop());
  await turn();
  clock.advance(10_000);
  await turn();
  // The disk that never answers is given up when its time is over.
  clock.advance(20_000);
  await turn();
  assert.ok(names(evicted).includes('over'), `${names(evicted)}`);
  assert.ok(!names(evicted).includes('within'));
});

test('a pod with a limit can’t hide behind files without number; one without, or held up by its disk, stays', async (t) => {
  const limited = { resources: { limits: { 'ephemeral-storage': '1Gi' } } };
  const few: Answer = async (_, folders) => all(folders, { bytes: 0, inodes: 3, uncounted: 'late' });
  const volumes = [
    { name: 'free', emptyDir: {} },
    { name: 'x', emptyDir: small },
  ];
  const pods = [
    podOf('volume', small),
    podOf('container', {}, limited),
    podOf('unread', small),
    podOf('slow-disk', small),
    podOf('failing', small),
    podOf('free'),
    { ...podOf('elsewhere'), spec: aPod({ volumes }).spec },
  ];
  // What has a limit is walked first, and was counted to its end.
  const elsewhere: Answer = async (_, folders) => [
    { bytes: 1, inodes: 1 },
    ...all(folders.slice(1), { bytes: 0, inodes: 1e6, uncounted: 'late' }),
  ];
  const answers = {
    volume: endless,
    container: endless,
    unread: unreadable,
    'slow-disk': few,
    failing,
    elsewhere,
    free: endless,
  };
  const { clock, asked, evicted, meter, start } = aNode(pods, answers);
  t.after(start(unmeasurableNode));
  t.after(() => meter.stop());
  await turn();
  for (let i = 0; i < 3; i++) {
    clock.advance(10_000);
    await turn();
  }
  assert.deepEqual(names(evicted), ['container', 'unread', 'volume']);
  const said = Object.fromEntries(evicted.map(({ pod, message }) => [pod.metadata.name, message]));
  assert.equal(
    said['volume'],
    'Usage of local ephemeral storage could not be measured: 1200000000 files were counted in 5m0s, and there are more. ',
  );
  assert.equal(
    said['unread'],
    "Usage of local ephemeral storage could not be measured: a part of it can't be read. ",
  );
  assert.deepEqual(
    asked
      .filter(({ uid }) => uid === 'volume')
      .map(({ withinMs }) => withinMs)
      .slice(0, 2),
    [2_000, 300_000],
  );
  // Nobody without a limit is walked while the node has room.
  assert.ok(!asked.some(({ uid }) => uid === 'free'));
});

test('slow pods are walked apart, two at a time, and nobody waits for them', async (t) => {
  const slow: Answer = (withinMs, folders) => (withinMs > 2_000 ? silent : endless)(withinMs, folders);
  const pods = [...['a', 'b', 'c'].map((name) => podOf(name, small)), podOf('over', small)];
  const { asked, meter } = aNode(pods, { a: slow, b: slow, c: slow, over: much });
  t.after(() => meter.stop());
  for (let look = 0; look < 2; look++) {
    const measured = await meter.measure(pods, 'ephemeral-storage');
    assert.deepEqual(
      measured.map(({ unmeasured }) => unmeasured && [unmeasured.settled, unmeasured.isNodesDoing]),
      [[false, false], [false, false], [false, false], undefined],
    );
    assert.deepEqual(
      rankedForEviction(measured, 'ephemeral-storage', Number.POSITIVE_INFINITY).map(
        ({ pod }) => pod.metadata.name,
      ),
      ['a', 'b', 'c', 'over'],
    );
  }
  const walks = (ms: number): string[] =>
    asked.filter(({ withinMs }) => withinMs === ms).map(({ uid }) => uid);
  assert.deepEqual(walks(2_000), ['a', 'b', 'c', 'over', 'over']);
  assert.deepEqual(walks(300_000), ['a', 'b']);
});

test('when memory is short the disk is not walked; a container that spoils the runtime’s answer spoils its pod’s alone', async () => {
  const pods = [podOf('spoilt'), podOf('fine')];
  const stats = (uid: string): ContainerStats => ({
    attributes: { labels: { [labelPodUid]: uid, [labelContainerName]: 'main' } },
    memory: { workingSetBytes: { value: 7 } },
  });
  const { asked, meter } = aNode(
    pods,
    { spoilt: silent, fine: silent },
    {
      runtime: {
        listContainerStats: async (filter) => {
          const uid = filter?.labelSelector?.[labelPodUid];
          if (uid !== 'fine') throw new Error('failed to decode metrics');
          return [stats(uid)];
        },
      },
    },
  );
  const measured = await meter.measure(pods, 'memory');
  assert.deepEqual(
    measured.map(({ usage, unmeasured }) => [usage.containers[0]?.memoryBytes, unmeasured?.isNodesDoing]),
    [
      [0, true],
      [7, undefined],
    ],
  );
  assert.deepEqual(asked, []);
});

/** Only what this names takes anything. */
const onlyIn =
  (path: string): Answer =>
  async (_, paths) =>
    paths.map((each) => ({ bytes: each === path ? 2 * mi : 0, inodes: 1 }));

test('what a node keeps for a pod counts as the pod’s: hosts, ends of containers, volumes of images', async () => {
  const limited = { resources: { limits: { 'ephemeral-storage': '1Mi' } } };
  const kept: Record<string, string> = {
    hosts: '/pods/hosts/etc-hosts',
    ends: '/pods/ends/containers',
    image: '/kept/id-of-image',
    none: '/elsewhere',
  };
  const pods = Object.keys(kept).map((name) => podOf(name, {}, limited));
  const answers = Object.fromEntries(Object.entries(kept).map(([name, path]) => [name, onlyIn(path)]));
  const stats = (uid: string): ContainerStats => ({
    attributes: { id: `id-of-${uid}`, labels: { [labelPodUid]: uid, [labelContainerName]: 'main' } },
  });
  const { meter } = aNode(pods, answers, {
    runtime: { listContainerStats: async () => Object.keys(kept).map(stats) },
  });
  const measured = await meter.measure(pods, 'ephemeral-storage');
  const told = measured.map(({ pod, usage }) => storageExcess(pod, usage)?.message);
  const over = 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ';
  assert.deepEqual(told, [over, over, over, undefined]);
});

test('a container counts as it is now, and not as one of its name that ended before it', async () => {
  const pod = podOf('p', {});
  const life = (attempt: number): ContainerStats => ({
    attributes: {
      id: `id-${attempt}`,
      metadata: { name: 'main', attempt },
      labels: { [labelPodUid]: 'p', [labelContainerName]: 'main' },
    },
    memory: { workingSetBytes: { value: attempt } },
    writableLayer: { usedBytes: { value: attempt } },
  });
  const lives = [1, 2, 0].map(life);
  const { meter } = aNode([pod], { p: little }, { runtime: { listContainerStats: async () => lives } });
  const [measured] = await meter.measure([pod], 'ephemeral-storage');
  const [main] = measured!.usage.containers;
  assert.deepEqual([main?.memoryBytes, main?.rootfsBytes], [2, 2]);
});

test('a volume in memory counts where it is a folder on disk', async () => {
  const limited = { resources: { limits: { 'ephemeral-storage': '1Mi' } } };
  const pod = podOf('p', { medium: 'Memory' }, limited);
  for (const hasMemoryVolumes of [true, false]) {
    const answer = onlyIn('/pods/p/volumes/kubernetes.io~empty-dir/x');
    const { meter } = aNode([pod], { p: answer }, { hasMemoryVolumes });
    const [measured] = await meter.measure([pod], 'ephemeral-storage');
    assert.equal(storageExcess(pod, measured!.usage) === undefined, hasMemoryVolumes);
  }
});

test('a pod with a limit can’t hide in a layer that the runtime passes over; one that is new, or counted as rarely as all, stays', async () => {
  const limited = { resources: { limits: { 'ephemeral-storage': '1Gi' } } };
  const pods = ['deep', 'fine', 'slow'].map((name) => podOf(name, {}, limited));
  const counted: Record<string, number> = { deep: 1, fine: 1, slow: 1 };
  const stats = (uid: string): ContainerStats => ({
    attributes: { id: `id-of-${uid}`, labels: { [labelPodUid]: uid, [labelContainerName]: 'main' } },
    writableLayer: { timestamp: counted[uid]!, usedBytes: { value: 1 } },
  });
  const { meter } = aNode(
    pods,
    { deep: little, fine: little, slow: little },
    { runtime: { listContainerStats: async () => Object.keys(counted).map(stats) } },
  );
  const look = async (round: number): Promise<(string | undefined)[]> => {
    counted.fine = round;
    // Its turn in a round comes after the look.
    if (round % 2 === 0) counted.slow = round;
    const measured = await meter.measure(pods, 'ephemeral-storage');
    return measured.map(({ usage, unmeasured, pod }) =>
      unmeasured?.settled && hidesFromLimit(pod, usage) ? unmeasured.message : undefined,
    );
  };
  for (const round of [2, 3, 4]) assert.deepEqual(await look(round), [undefined, undefined, undefined]);
  const hidden =
    "Usage of local ephemeral storage could not be measured: the runtime can't count what container main wrote. ";
  for (const round of [5, 6, 7]) assert.deepEqual(await look(round), [hidden, undefined, undefined]);
  const memory = await meter.measure(pods, 'memory');
  assert.deepEqual(
    memory.map(({ unmeasured }) => unmeasured),
    [undefined, undefined, undefined],
  );
  counted.deep = 9;
  assert.deepEqual(await look(8), [undefined, undefined, undefined]);
});
