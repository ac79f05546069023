// Rates out of two readings, in metrics-server's cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodePoints, type Point, usageOfNode, usageOfPod, withReading } from './usage-points.ts';

const minute = 60_000;
const core = 1e9;

const reading = (containers: Readonly<Record<string, Point>>, node?: Point) => ({
  node,
  pods: new Map([['default/web', new Map(Object.entries(containers))]]),
});
const read = (...all: readonly ReturnType<typeof reading>[]): NodePoints | undefined =>
  all.reduce<NodePoints | undefined>(withReading, undefined);
const at = (seconds: number, cpuSeconds: number, more: Partial<Point> = {}): Point => ({
  startMs: minute,
  atMs: 10 * minute + seconds * 1000,
  cpuNs: cpuSeconds * core,
  memoryBytes: 5 << 20,
  ...more,
});
const used = (points: NodePoints | undefined) => usageOfPod(points, 'default/web');

test('a node is told after its second reading: processors of the time between, memory as it is', () => {
  const once = read(reading({}, at(0, 10)));
  assert.equal(usageOfNode(once), undefined);
  const twice = withReading(once, reading({}, at(20, 25, { memoryBytes: 7 })));
  assert.deepEqual(usageOfNode(twice), {
    atMs: 10 * minute + 20_000,
    windowMs: 20_000,
    cpuNanoCores: 750_000_000,
    memoryBytes: 7,
  });
});

test('a pod is told once all its containers were read twice, as of the earliest of them', () => {
  const points = read(
    reading({ main: at(0, 1), side: at(1, 1) }),
    reading({ main: at(10, 2), side: at(9, 3) }),
  );
  assert.deepEqual(used(points), {
    atMs: 10 * minute + 9_000,
    windowMs: 8_000,
    containers: [
      { name: 'main', cpuNanoCores: 100_000_000, memoryBytes: 5 << 20 },
      { name: 'side', cpuNanoCores: 250_000_000, memoryBytes: 5 << 20 },
    ],
  });
  const late = withReading(points, reading({ main: at(20, 3), side: at(19, 3), new: at(20, 1) }));
  assert.equal(used(late), undefined);
});

test('a container between ten and fifteen seconds of age is measured from its start', () => {
  const fresh = (ageMs: number): Point => ({
    startMs: 10 * minute,
    atMs: 10 * minute + ageMs,
    cpuNs: core,
    memoryBytes: 1,
  });
  assert.equal(used(read(reading({ main: fresh(9_999) }))), undefined);
  assert.equal(used(read(reading({ main: fresh(15_000) }))), undefined);
  assert.deepEqual(used(read(reading({ main: fresh(10_000) }))), {
    atMs: 10 * minute + 10_000,
    windowMs: 10_000,
    containers: [{ name: 'main', cpuNanoCores: 100_000_000, memoryBytes: 1 }],
  });
});

test('a container that was started again is told after two readings of its new life', () => {
  const restarted = { startMs: 10 * minute + 12_000 };
  const points = read(reading({ main: at(0, 9) }), reading({ main: at(15, 1, restarted) }));
  assert.equal(used(points), undefined);
  const again = withReading(points, reading({ main: at(30, 2, restarted) }));
  assert.equal(used(again)?.windowMs, 15_000);
});

test('what is told again as it was makes no second point, and takes none away', () => {
  const same = at(0, 1);
  assert.equal(used(read(reading({ main: same }), reading({ main: same }))), undefined);
  const points = read(reading({ main: same }), reading({ main: at(10, 2) }), reading({ main: at(10, 2) }));
  assert.equal(used(points)?.windowMs, 10_000);
});

test('of a counter that went back nothing is told, and the other containers are', () => {
  const points = read(
    reading({ main: at(0, 9), side: at(0, 1) }, at(0, 9)),
    reading({ main: at(10, 1), side: at(10, 2) }, at(10, 1)),
  );
  assert.equal(usageOfNode(points), undefined);
  assert.deepEqual(
    used(points)?.containers.map(({ name }) => name),
    ['side'],
  );
});

test('what a kubelet no longer tells is forgotten', () => {
  const points = read(reading({ main: at(0, 1) }), { node: undefined, pods: new Map() });
  assert.equal(used(withReading(points, reading({ main: at(10, 2) }))), undefined);
});
