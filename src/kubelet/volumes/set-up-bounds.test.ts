// What a pod of very many volumes takes of its node.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { EmptyDirVolumeSource } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { volumeMetrics } from '../metrics/volume-metrics.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { createNodeVolumeManager } from './node-volume-manager.ts';

const linux = createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' });

const { signal } = new AbortController();

/** A claim and its volume in one: a folder of the node. */
const claim = (folder: string) => ({
  metadata: {
    name: 'c',
    uid: 'u',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-1', controller: true }],
  },
  spec: { volumeName: 'pv', claimRef: { uid: 'u' }, hostPath: { path: folder, type: 'Directory' } },
  status: { phase: 'Bound' },
});

/** `mount`: the mount of one volume, or of what the kubelet holds for a container. */
function manager(t: TestContext, mount: () => Promise<void>, nodeOs = linux) {
  const root = mkdtempSync(join(tmpdir(), 'volumes-'));
  t.after(() => rmSync(root, { recursive: true }));
  return createNodeVolumeManager({
    host: {
      files: linuxFiles,
      mounts: { hasOwnFileSystem: async () => false, tmpfs: mount },
      beneath: { mount, open: async () => undefined },
    },
    client: { get: async () => claim(root) },
    nodeOs,
    podDir: () => root,
    metrics: volumeMetrics(createMetrics(), new FakeClock(), () => []),
  } as never);
}
const mounts = (count: number, more: object = {}) =>
  aContainer('main', {
    volumeMounts: Array.from({ length: count }, (_, i) => ({ name: 'v0', mountPath: `/m/${i}`, ...more })),
  });
type Mounting = ReturnType<typeof mounts>;
const podOf = (count: number, emptyDir: EmptyDirVolumeSource) =>
  aPod({ volumes: Array.from({ length: count }, (_, i) => ({ name: `v${i}`, emptyDir })) });

test('a few volumes of a pod are set up at once, however many it has', async (t) => {
  let underWay = 0;
  let most = 0;
  let mounted = 0;
  const volumes = manager(t, async () => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    mounted++;
  });
  await volumes.setUp(podOf(500, { medium: 'Memory' }), [], signal);
  assert.equal(mounted, 500);
  assert.ok(most <= 16, `${most}`);
});

test('after a volume that fails none is begun', async (t) => {
  let begun = 0;
  const volumes = manager(t, async () => {
    begun++;
    throw new Error('no space left on device');
  });
  await assert.rejects(volumes.setUp(podOf(100, { medium: 'Memory' }), [], signal), {
    message: /^MountVolume\.SetUp failed for volume "v\d+" : no space left on device$/,
  });
  assert.ok(begun <= 16, `${begun}`);
});

test('more mounts than a node has room for are refused before the first one; folders are none', async (t) => {
  let mounted = 0;
  const mount = async (): Promise<void> => void mounted++;
  await assert.rejects(manager(t, mount).setUp(podOf(1500, { medium: 'Memory' }), [], signal), {
    message:
      'MountVolume.SetUp failed for volume "v500" : the pod has 1500 volumes in memory (emptyDir, secret, projected) and 0 mounts by subPath or of paths of the node (hostPath, claims), together at most 500 are mounted',
  });
  assert.equal(mounted, 0);
  await manager(t, mount).setUp(podOf(600, {}), [], signal);
  await manager(t, mount, windows).setUp(podOf(600, { medium: 'Memory' }), [], signal);
  assert.equal(mounted, 0);
});

test('what leads into a volume, and paths of the node, are mounts too, of all containers together', async (t) => {
  const refused = async (...containers: Mounting[]): Promise<boolean> => {
    const { spec, ...pod } = podOf(1, {});
    const [first, ...rest] = containers;
    const whole = { ...pod, spec: { ...spec, containers: [first!], initContainers: rest } };
    const text =
      /^MountVolume\.SetUp failed for volume "v0" : the pod has 0 volumes .* and 501 mounts by subPath/;
    return manager(t, async () => undefined)
      .setUp(whole, [], signal)
      .then(
        () => false,
        (error: Error) => text.test(error.message),
      );
  };
  const [by, byExpression] = [{ subPath: 'x' }, { subPathExpr: '$(X)' }];
  assert.equal(await refused(mounts(500, by)), false);
  assert.equal(await refused(mounts(400, by), mounts(101, byExpression)), true);
  assert.equal(await refused(mounts(600, {})), false, 'the runtime mounts these');
});

const windows = createWindowsNodeOs({
  build: 20348,
  osImage: 'w',
  kernelVersion: '10',
  emulated: true,
  hostDrive: '/drive-c',
});
const ofNode: readonly [system: typeof linux, source: object][] = [
  [linux, { persistentVolumeClaim: { claimName: 'c' } }],
  [linux, { ephemeral: { volumeClaimTemplate: { spec: {} } } }],
  [linux, { hostPath: { path: '/tmp', type: 'Directory' } }],
  [windows, { persistentVolumeClaim: { claimName: 'c' } }],
  [windows, { hostPath: { path: 'C:\\x' } }],
];

for (const [system, source] of ofNode) {
  const what = `${Object.keys(source)[0]} (${system.nodeInfo.operatingSystem})`;
  const podWith = (container: Mounting) =>
    aPod({ volumes: [{ name: 'v0', ...source }], containers: [container] });

  test(`mounts of ${what} are counted before the first of them`, async (t) => {
    const volumes = manager(t, async () => undefined, system);
    await volumes.setUp(podWith(mounts(500)), [], signal);
    await assert.rejects(volumes.setUp(podWith(mounts(501)), [], signal), {
      name: 'VolumeError',
      message: /^MountVolume\.SetUp failed for volume "v0" : .* and 501 mounts .* at most 500 are mounted$/,
    });
  });

  test(`mounts of ${what} are counted of a container that came later, too`, async (t) => {
    let mounted = 0;
    const volumes = manager(t, async () => void mounted++, system);
    const before = await volumes.setUp(podWith(mounts(1)), [], signal);
    await assert.rejects(before.mountsOf(mounts(501), new Map(), signal), /at most 500 are mounted$/);
    assert.equal(mounted, 0);
    await before.mountsOf(mounts(500), new Map(), signal);
    assert.equal(mounted, 500);
  });

  test(`no more of ${what} is mounted for a pod that is to end`, async (t) => {
    const ending = new AbortController();
    let mounted = 0;
    const volumes = manager(t, async () => void (++mounted === 3 && ending.abort()), system);
    const ready = await volumes.setUp(podWith(mounts(400)), [], ending.signal);
    await assert.rejects(ready.mountsOf(mounts(400), new Map(), ending.signal), { name: 'AbortError' });
    assert.equal(mounted, 3);
  });
}

test('no more volumes are set up for a pod that is to end, and none is under way then', async (t) => {
  const ending = new AbortController();
  let begun = 0;
  let underWay = 0;
  const volumes = manager(t, async () => {
    begun++;
    underWay++;
    await new Promise((resolve) => setImmediate(resolve));
    ending.abort();
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
  });
  await assert.rejects(volumes.setUp(podOf(400, { medium: 'Memory' }), [], ending.signal));
  assert.ok(begun <= 16, `${begun}`);
  assert.equal(underWay, 0);
});

test('an emptyDir of huge pages, or of a medium that nobody knows, is no folder on disk', async (t) => {
  const failure = async (medium: string, container = aContainer('main')): Promise<string> => {
    const pod = { ...podOf(1, { medium }) };
    const spec = { ...pod.spec, containers: [container] };
    try {
      await manager(t, async () => undefined).setUp({ ...pod, spec }, [], signal);
    } catch (error) {
      return (error as Error).message;
    }
    return 'it was set up';
  };
  const failed = 'MountVolume.SetUp failed for volume "v0" : ';
  const asks = aContainer('main', { resources: { requests: { 'hugepages-2Mi': '4Mi' } } });
  const unasked = `${failed}hugePages storage requested, but there is no resource request for huge pages`;
  assert.equal(await failure('HugePages'), unasked);
  assert.equal(await failure('HugePages-2Mi'), unasked);
  assert.equal(
    await failure('HugePages-2Mi', asks),
    `${failed}hugePages storage requested, but this node has no huge pages for pods`,
  );
  assert.equal(await failure('Disk'), `${failed}unknown storage medium "Disk"`);
  assert.equal(await failure(''), 'it was set up');
});
