// What a pod of very many volumes takes of its node.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { EmptyDirVolumeSource } from '../../api/generated/types/core-v1.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { createNodeVolumeManager } from './node-volume-manager.ts';

const linux = createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' });

/** `mount`: the mount of one volume. */
function manager(t: TestContext, mount: () => Promise<void>, nodeOs = linux) {
  const root = mkdtempSync(join(tmpdir(), 'volumes-'));
  t.after(() => rmSync(root, { recursive: true }));
  return createNodeVolumeManager({
    host: { files: linuxFiles, mounts: { hasOwnFileSystem: async () => false, tmpfs: mount } },
    nodeOs,
    podDir: () => root,
  } as never);
}
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
  await volumes.setUp(podOf(500, { medium: 'Memory' }), []);
  assert.equal(mounted, 500);
  assert.ok(most <= 16, `${most}`);
});

test('after a volume that fails none is begun', async (t) => {
  let begun = 0;
  const volumes = manager(t, async () => {
    begun++;
    throw new Error('no space left on device');
  });
  await assert.rejects(volumes.setUp(podOf(100, { medium: 'Memory' }), []), {
    message: /^MountVolume\.SetUp failed for volume "v\d+" : no space left on device$/,
  });
  assert.ok(begun <= 16, `${begun}`);
});

test('more mounts than a node has room for are refused before the first one; folders are none', async (t) => {
  let mounted = 0;
  const mount = async (): Promise<void> => void mounted++;
  await assert.rejects(manager(t, mount).setUp(podOf(1500, { medium: 'Memory' }), []), {
    message:
      'MountVolume.SetUp failed for volume "v500" : the pod has 1500 volumes in memory (emptyDir, secret, projected) and 0 mounts by subPath or of the node\'s paths, together at most 500 are mounted',
  });
  assert.equal(mounted, 0);
  await manager(t, mount).setUp(podOf(600, {}), []);
  const windows = createWindowsNodeOs({ build: 20348, osImage: 'w', kernelVersion: '10', emulated: true });
  await manager(t, mount, windows).setUp(podOf(600, { medium: 'Memory' }), []);
  assert.equal(mounted, 0);
});

test('what leads into a volume, and paths of the node, are mounts too, of all containers together', async (t) => {
  const mounts = (count: number, more: object) =>
    aContainer('main', {
      volumeMounts: Array.from({ length: count }, (_, i) => ({ name: 'v0', mountPath: `/m/${i}`, ...more })),
    });
  const refused = async (...containers: ReturnType<typeof mounts>[]): Promise<boolean> => {
    const { spec, ...pod } = podOf(1, {});
    const [first, ...rest] = containers;
    const whole = { ...pod, spec: { ...spec, containers: [first!], initContainers: rest } };
    const text =
      /^MountVolume\.SetUp failed for volume "v0" : the pod has 0 volumes .* and 501 mounts by subPath/;
    return manager(t, async () => undefined)
      .setUp(whole, [])
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

test('an emptyDir of huge pages, or of a medium that nobody knows, is no folder on disk', async (t) => {
  const failure = async (medium: string, container = aContainer('main')): Promise<string> => {
    const pod = { ...podOf(1, { medium }) };
    const spec = { ...pod.spec, containers: [container] };
    try {
      await manager(t, async () => undefined).setUp({ ...pod, spec }, []);
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
