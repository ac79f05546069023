// When pods are evicted, which one, and what it is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { formatQuantity } from '../../apimachinery/quantity.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { memoryFloors } from '../node-os/memory-floors.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { pressureMessage, rankedForEviction } from './choose-pod.ts';
import { type Eviction, startEvictionManager } from './eviction-manager.ts';
import { type ContainerUsage, type PodUsage, storageExcess } from './pod-usage.ts';
import {
  defaultEvictionHard,
  localEvictionHard,
  metThresholds,
  type NodeMeasures,
  observe,
  parseThresholds,
  withheldBytes,
} from './thresholds.ts';

const mi = 1 << 20;
const gi = 1 << 30;
const disk = (availableBytes: number, inodesFree = 900) =>
  ({ capacityBytes: 100 * gi, availableBytes, usedBytes: 0, inodes: 1000, inodesFree }) as const;
const measures = (available: number, more: Partial<NodeMeasures> = {}): NodeMeasures => ({
  memoryBytes: 8 * gi,
  usage: { memoryAvailableBytes: 4 * gi },
  nodefs: disk(available),
  imagefs: disk(available),
  ...more,
});
const met = (text: string, of: NodeMeasures): string[] =>
  metThresholds(parseThresholds(text), observe(of)).map(
    ({ signal, quantity, available }) => `${signal} ${formatQuantity(quantity)} ${formatQuantity(available)}`,
  );

test('thresholds are percentages of the capacity, or amounts; 0% is none', () => {
  assert.deepEqual(met('nodefs.available<10%', measures(10 * gi)), []);
  assert.deepEqual(met('nodefs.available<10%', measures(10 * gi - 1024)), [
    'nodefs.available 10Gi 10485759Ki',
  ]);
  assert.deepEqual(met('nodefs.available<0%', measures(0)), []);
  assert.deepEqual(met('', measures(0)), []);
  assert.deepEqual(met(localEvictionHard(memoryFloors.linux), measures(2 * gi)), []);
  assert.deepEqual(met('nodefs.inodesFree<5%', measures(50 * gi, { nodefs: disk(gi, 49) })), [
    'nodefs.inodesFree 50 49',
  ]);
  const scarce = measures(gi, { usage: { memoryAvailableBytes: 99 * mi } });
  assert.deepEqual(
    met(defaultEvictionHard(memoryFloors.linux), scarce).map((line) => line.split(' ')[0]),
    ['memory.available', 'imagefs.available', 'nodefs.available'],
  );
  assert.equal(
    withheldBytes(parseThresholds(defaultEvictionHard(memoryFloors.windows)), 'memory.available', gi),
    500 * mi,
  );
});

test('what is no threshold is refused with upstream’s words', () => {
  for (const [text, message] of [
    ['disk<1Gi', 'unsupported eviction signal disk'],
    ['nodefs.available<101%', 'eviction percentage threshold nodefs.available must be <= 100%: 101%'],
    ['nodefs.available<-1Gi', 'eviction threshold nodefs.available must be positive: -1Gi'],
  ] as const)
    assert.throws(() => parseThresholds(text), { message });
  assert.throws(() => parseThresholds('nodefs.available'));
});

const used = (name: string, more: Partial<ContainerUsage> = {}): ContainerUsage => ({
  name,
  rootfsBytes: 0,
  logsBytes: 0,
  memoryBytes: 0,
  inodes: 0,
  ...more,
});
const usage = (containers: ContainerUsage[], volumes: Record<string, number> = {}): PodUsage => ({
  containers,
  volumes: new Map(Object.entries(volumes).map(([name, bytes]) => [name, { bytes, inodes: 1 }])),
});
const limited = (limit: string | undefined, volume: object = {}): Pod =>
  aPod({
    containers: [aContainer('main', limit ? { resources: { limits: { 'ephemeral-storage': limit } } } : {})],
    volumes: [{ name: 'x', emptyDir: volume }],
  });

test('a pod over its limits is told which one', () => {
  const small = { sizeLimit: '1Mi' };
  assert.equal(
    storageExcess(limited(undefined, small), usage([used('main')], { x: mi }))?.message,
    undefined,
  );
  assert.deepEqual(storageExcess(limited(undefined, small), usage([used('main')], { x: mi + 1 })), {
    signal: 'emptydirfs.limit',
    message: 'Usage of EmptyDir volume "x" exceeds the limit "1Mi". ',
  });
  assert.equal(
    storageExcess(limited(undefined), usage([used('main', { rootfsBytes: gi })], { x: gi }))?.message,
    undefined,
  );
  // Containers, logs and volumes on the disk count together …
  assert.equal(
    storageExcess(limited('3Mi'), usage([used('main', { rootfsBytes: mi, logsBytes: mi })], { x: mi + 1 }))
      ?.message,
    'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
  );
  // … what is in memory does not.
  const inMemory = usage([used('main', { rootfsBytes: mi, logsBytes: mi })], { x: 2 * mi });
  assert.equal(storageExcess(limited('3Mi', { medium: 'Memory' }), inMemory)?.message, undefined);
  const two = aPod({
    containers: ['a', 'b'].map((name) =>
      aContainer(name, { resources: { limits: { 'ephemeral-storage': '2Mi' } } }),
    ),
  });
  assert.equal(
    storageExcess(two, usage([used('a'), used('b', { logsBytes: 3 * mi })]))?.message,
    'Container b exceeded its local ephemeral storage limit "2Mi". ',
  );
});

const named = (name: string, priority = 0, request?: string): Pod => ({
  ...aPod({
    priority,
    containers: [
      aContainer('main', request ? { resources: { requests: { 'ephemeral-storage': request } } } : {}),
    ],
  }),
  metadata: { name, namespace: 'ns', uid: name },
});

test('first goes who exceeds its requests, then who matters less, then who exceeds them by most', () => {
  const of = (pod: Pod, megabytes: number) => ({
    pod,
    usage: usage([used('main', { rootfsBytes: megabytes * mi })]),
  });
  const ranked = rankedForEviction(
    [
      of(named('within', 0, '1Gi'), 900),
      of(named('little'), 1),
      of(named('much'), 100),
      of(named('important', 10), 500),
      of(named('asked', 0, '50Mi'), 140),
    ],
    'ephemeral-storage',
    gi,
  );
  assert.deepEqual(
    ranked.map(({ pod }) => pod.metadata.name),
    ['much', 'asked', 'little', 'important', 'within'],
  );
});

/** Of whom so much was seen; `settled`: it was not measured, and whether that is for good. */
const seen = (
  pod: Pod,
  megabytes: number,
  unmeasured?: { readonly settled: boolean; readonly isNodesDoing?: boolean },
) => ({
  pod,
  usage: usage([used('main', { rootfsBytes: megabytes * mi })]),
  unmeasured: unmeasured && { ...unmeasured, message: 'Not measured. ' },
});
const namesOf = (ranked: readonly { readonly pod: Pod }[]): (string | undefined)[] =>
  ranked.map(({ pod }) => pod.metadata.name);
const cut = { settled: false };

test('who has many files does not go before who fills the disk; who hides does', () => {
  const ranked = rankedForEviction(
    [
      seen(named('many-files', 0, '2Gi'), 30, cut),
      seen(named('many-files-important', 10), 1, cut),
      seen(named('many-files-unasked'), 1, cut),
      seen(named('hog'), 3000),
      seen(named('hides', 10, '2Gi'), 1, { settled: true }),
    ],
    'ephemeral-storage',
    724 * mi,
  );
  assert.deepEqual(namesOf(ranked), [
    'hides',
    'hog',
    'many-files-unasked',
    'many-files-important',
    'many-files',
  ]);
  const [threshold] = metThresholds(parseThresholds('nodefs.available<1Gi'), observe(measures(300 * mi)));
  assert.match(pressureMessage(ranked[0]!, threshold!), /available: 300Mi\. Not measured\. $/);
});

test('when nobody is seen to use what is short, who has many files and asked for nothing goes first', () => {
  const ranked = rankedForEviction(
    [
      seen(named('little'), 100),
      seen(named('some'), 700),
      seen(named('many-files'), 1, cut),
      seen(named('many-files-seen'), 800, cut),
      seen(named('disk-does-not-answer'), 0, { settled: false, isNodesDoing: true }),
      seen(named('within', 0, '1Gi'), 900),
    ],
    'ephemeral-storage',
    724 * mi,
  );
  assert.deepEqual(namesOf(ranked), [
    'many-files-seen',
    'many-files',
    'some',
    'little',
    'disk-does-not-answer',
    'within',
  ]);
});

test('under pressure the shortage is what is missing to the threshold', async () => {
  const clock = new FakeClock();
  const evicted = Promise.withResolvers<Eviction>();
  const manager = startEvictionManager({
    clock,
    log: silentLogger,
    thresholds: parseThresholds('nodefs.available<1Gi'),
    node: async () => measures(300 * mi),
    active: () => [named('many-files'), named('hog')],
    measure: async (pods) =>
      pods.map((pod) => (pod.metadata.name === 'hog' ? seen(pod, 725) : seen(pod, 1, cut))),
    evict: async (eviction) => evicted.resolve(eviction),
    announce: () => undefined,
    conditionsChanged: () => undefined,
  });
  clock.advance(10_000);
  assert.equal((await evicted.promise).pod.metadata.name, 'hog');
  await manager.stop();
});

test('what is told of pressure is upstream’s', () => {
  const [threshold] = metThresholds(parseThresholds('nodefs.available<1Gi'), observe(measures(300 * mi)));
  const measured = {
    pod: named('p', 0, '1Mi'),
    usage: usage([used('main', { rootfsBytes: 2 * mi, logsBytes: mi })]),
  };
  assert.equal(
    pressureMessage(measured, threshold!),
    'The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 300Mi. Container main was using 3Mi, request is 1Mi, has larger consumption of ephemeral-storage. ',
  );
});

const turn = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

test('one pod is evicted a look, critical ones never; the condition and the refusal of pods stay for five minutes', async (t) => {
  const clock = new FakeClock();
  let available = 50 * gi;
  const evicted: Eviction[] = [];
  let changes = 0;
  const critical = named('critical', 2_000_000_000);
  const all = [named('a'), named('b'), critical];
  const manager = startEvictionManager({
    clock,
    log: silentLogger,
    thresholds: parseThresholds('nodefs.available<1Gi'),
    node: async () => measures(available),
    active: () => all.filter((pod) => !evicted.some((e) => e.pod === pod)),
    measure: async (pods) => pods.map((pod) => ({ pod, usage: usage([used('main', { rootfsBytes: mi })]) })),
    evict: async (eviction) => void evicted.push(eviction),
    announce: () => {},
    conditionsChanged: () => void changes++,
  });
  t.after(() => manager.stop());
  const look = async (): Promise<void> => {
    clock.advance(10_000);
    await turn();
  };
  await turn();
  await look();
  assert.deepEqual([evicted.length, manager.conditions(), manager.admit(named('c'))], [0, [], undefined]);
  available = gi - 1;
  await look();
  assert.deepEqual([evicted.length, manager.conditions(), changes], [1, ['DiskPressure'], 1]);
  assert.deepEqual(manager.admit(named('c')), {
    reason: 'Evicted',
    message: 'The node had condition: [DiskPressure]. ',
  });
  assert.equal(manager.admit(critical), undefined);
  await look();
  await look();
  assert.deepEqual(
    evicted.map(({ pod, disruption, signal }) => [pod.metadata.name, disruption, signal]),
    [
      ['a', true, 'nodefs.available'],
      ['b', true, 'nodefs.available'],
    ],
  );
  available = 50 * gi;
  for (let i = 0; i < 29; i++) await look();
  assert.deepEqual(manager.conditions(), ['DiskPressure']);
  await look();
  assert.deepEqual([manager.conditions(), manager.admit(named('c')), changes], [[], undefined, 2]);
});

test('short of memory alone, a node takes the BestEffort pods that tolerate it, as those of a DaemonSet', async (t) => {
  const clock = new FakeClock();
  const manager = startEvictionManager({
    clock,
    log: silentLogger,
    thresholds: parseThresholds('memory.available<1000Ti'),
    node: async () => measures(50 * gi),
    active: () => [],
    measure: async () => [],
    evict: async () => {},
    announce: () => {},
    conditionsChanged: () => {},
  });
  t.after(() => manager.stop());
  await turn();
  clock.advance(10_000);
  await turn();
  assert.deepEqual(manager.conditions(), ['MemoryPressure']);
  const plain = named('plain');
  const key = 'node.kubernetes.io/memory-pressure';
  const tolerations = [{ key, operator: 'Exists', effect: 'NoSchedule' }];
  assert.equal(manager.admit(plain)?.message, 'The node had condition: [MemoryPressure]. ');
  assert.equal(manager.admit({ ...plain, spec: { ...plain.spec, tolerations } }), undefined);
});
