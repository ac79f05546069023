// Which nodes volumes leave to a pod: disks and claims for one pod, limits of CSI drivers, zones, in upstream's cases.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '../../api/generated/types/core-v1.ts';
import type { CSINode, VolumeAttachment } from '../../api/generated/types/storage-v1.ts';
import { CycleState } from '../framework/cycle-state.ts';
import { type NodeInfo, podInfoOf } from '../framework/node-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { snapshotOf } from '../framework/snapshot.ts';
import type { StorageView } from '../framework/storage.ts';
import { makeNode, makePod, nodeWith } from '../testing/builders.ts';
import { noStorage } from '../testing/no-storage.ts';
import { nodeVolumeLimits } from './node-volume-limits.ts';
import { volumeRestrictions } from './volume-restrictions.ts';
import { volumeZone } from './volume-zone.ts';

const withVolumes = (name: string, ...volumes: object[]): Pod =>
  makePod(name, { spec: { volumes: volumes.map((volume, i) => ({ name: `v${i}`, ...volume }) as Volume) } });
const claimed = (...names: string[]): object[] =>
  names.map((claimName) => ({ persistentVolumeClaim: { claimName } }));

const claim = (name: string, spec: object): PersistentVolumeClaim =>
  ({ metadata: { name, namespace: 'default' }, spec }) as unknown as PersistentVolumeClaim;
const volume = (name: string, spec: object, labels: Record<string, string> = {}): PersistentVolume =>
  ({ metadata: { name, labels }, spec }) as unknown as PersistentVolume;

function view(
  claims: readonly PersistentVolumeClaim[],
  volumes: readonly PersistentVolume[] = [],
  more: Partial<StorageView> = {},
): StorageView {
  return {
    ...noStorage,
    claim: (name) => claims.find(({ metadata }) => metadata.name === name),
    volume: (name) => volumes.find(({ metadata }) => metadata.name === name),
    ...more,
  };
}

/** `fits`, or why not. */
function ask(plugin: Plugin, pod: Pod, node: NodeInfo, change?: (state: CycleState) => void): string {
  const state = new CycleState(false);
  const before = plugin.preFilter?.(state, pod, snapshotOf([node]))?.status;
  if (before?.code === 'Skip') return 'skipped';
  change?.(state);
  const status = before ?? plugin.filter?.(state, pod, node);
  return status === undefined ? 'fits' : `${status.code}: ${status.reasons.join(', ')}`;
}

describe('VolumeRestrictions', () => {
  const taken = 'Unschedulable: node(s) had no available disk';
  for (const [what, ours, theirs, expected] of [
    ['no volumes', [], [{ gcePersistentDisk: { pdName: 'a' } }], 'skipped'],
    [
      'another disk',
      [{ gcePersistentDisk: { pdName: 'b' } }],
      [{ gcePersistentDisk: { pdName: 'a' } }],
      'fits',
    ],
    [
      'the same disk',
      [{ gcePersistentDisk: { pdName: 'a' } }],
      [{ gcePersistentDisk: { pdName: 'a' } }],
      taken,
    ],
    [
      'the same disk that both only read',
      [{ gcePersistentDisk: { pdName: 'a', readOnly: true } }],
      [{ gcePersistentDisk: { pdName: 'a', readOnly: true } }],
      'fits',
    ],
    [
      'the same volume of EBS, read or not',
      [{ awsElasticBlockStore: { volumeID: 'a', readOnly: true } }],
      [{ awsElasticBlockStore: { volumeID: 'a', readOnly: true } }],
      taken,
    ],
    [
      'the same image by a monitor that both have',
      [{ rbd: { monitors: ['a', 'b'], pool: 'p', image: 'i' } }],
      [{ rbd: { monitors: ['c', 'b'], pool: 'p', image: 'i' } }],
      taken,
    ],
    ['another target', [{ iscsi: { iqn: 'a' } }], [{ iscsi: { iqn: 'b' } }], 'fits'],
  ] as const)
    test(`${what}: ${expected}`, () => {
      const node = nodeWith(makeNode('n'), withVolumes('there', ...theirs));
      assert.equal(ask(volumeRestrictions(noStorage), withVolumes('p', ...ours), node), expected);
    });

  test('a claim with ReadWriteOncePod is for one pod, unless that is to go', () => {
    const storage = view([
      claim('once', { accessModes: ['ReadWriteOncePod'] }),
      claim('many', { accessModes: ['ReadWriteMany'] }),
    ]);
    const plugin = volumeRestrictions(storage);
    const there = withVolumes('there', ...claimed('once', 'many'));
    const node = nodeWith(makeNode('n'), there);
    const refused =
      'Unschedulable: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
    assert.equal(ask(plugin, withVolumes('p', ...claimed('once')), node), refused);
    assert.equal(ask(plugin, withVolumes('p', ...claimed('many')), node), 'skipped');
    const pod = withVolumes('p', ...claimed('once'));
    const without = (state: CycleState): void => plugin.removePod?.(state, pod, podInfoOf(there), node);
    assert.equal(ask(plugin, pod, node, without), 'fits');
    assert.equal(
      ask(plugin, withVolumes('p', ...claimed('missing')), node),
      'UnschedulableAndUnresolvable: persistentvolumeclaim "missing" not found',
    );
  });
});

describe('NodeVolumeLimits', () => {
  const limit = (count?: number): CSINode => ({
    metadata: { name: 'n' },
    spec: {
      drivers: [{ name: 'disk', nodeID: 'n', ...(count === undefined ? {} : { allocatable: { count } }) }],
    },
  });
  const claims = ['a', 'b', 'c'].map((name) => claim(name, { volumeName: `pv-${name}` }));
  const volumes = ['a', 'b', 'c'].map((name) =>
    volume(`pv-${name}`, { csi: { driver: 'disk', volumeHandle: name } }),
  );
  const late = claim('late', { storageClassName: 'late' });
  const exceeded = 'Unschedulable: node(s) exceed max volume count';
  const at = (count: number | undefined, more: Partial<StorageView> = {}): Plugin =>
    nodeVolumeLimits(
      view([...claims, late], volumes, {
        csiNode: () => limit(count),
        storageClass: () => ({ metadata: { name: 'late' }, provisioner: 'disk' }),
        ...more,
      }),
    );
  const node = nodeWith(makeNode('n'), withVolumes('there', ...claimed('a')));
  const pod = (...names: string[]): Pod => withVolumes('p', ...claimed(...names));

  test('counts volumes of a driver once, however many pods use them', () => {
    assert.equal(ask(at(2), pod('b'), node), 'fits');
    assert.equal(ask(at(2), pod('b', 'c'), node), exceeded);
    assert.equal(ask(at(1), pod('a'), node), 'fits');
    assert.equal(ask(at(1), pod('b'), node), exceeded);
    assert.equal(ask(at(1), pod(), node), 'skipped');
  });

  test('counts volumes that are still to be made', () => {
    assert.equal(ask(at(2), pod('late'), node), 'fits');
    assert.equal(ask(at(1), pod('late'), node), exceeded);
  });

  test('knows no limit where the driver names none', () => {
    assert.equal(ask(at(undefined), pod('b', 'c'), node), 'fits');
    assert.equal(ask(at(undefined, { csiNode: () => undefined }), pod('b', 'c'), node), 'fits');
  });

  test('counts what is attached though no pod uses it', () => {
    const attachment: VolumeAttachment = {
      metadata: { name: 'x' },
      spec: { attacher: 'disk', nodeName: 'n', source: { persistentVolumeName: 'pv-b' } },
    };
    const attachments = (): readonly VolumeAttachment[] => [attachment];
    assert.equal(ask(at(2, { attachments }), pod('c'), node), exceeded);
    assert.equal(ask(at(2, { attachments }), pod('b'), node), 'fits');
  });
});

describe('VolumeZone', () => {
  const zone = 'topology.kubernetes.io/zone';
  const beta = 'failure-domain.beta.kubernetes.io/zone';
  const refused = 'UnschedulableAndUnresolvable: node(s) had no available volume zone';
  const storage = (labels: Record<string, string>): StorageView =>
    view([claim('data', { volumeName: 'pv' })], [volume('pv', {}, labels)]);
  for (const [what, volumeLabels, nodeLabels, expected] of [
    ['a volume of no zone', {}, { [zone]: 'a' }, 'skipped'],
    ['the same zone', { [zone]: 'a' }, { [zone]: 'a' }, 'fits'],
    ['another zone', { [zone]: 'a' }, { [zone]: 'b' }, refused],
    ['one of several zones', { [zone]: 'a__b' }, { [zone]: 'b' }, 'fits'],
    ['a node without zones', { [zone]: 'a' }, {}, 'fits'],
    ['a node with its region only', { [zone]: 'a' }, { 'topology.kubernetes.io/region': 'r' }, refused],
    ["the volume's beta label and the node's other", { [beta]: 'a' }, { [zone]: 'a' }, 'fits'],
    ['labels that say nothing', { [zone]: 'a__' }, { [zone]: 'b' }, 'skipped'],
  ] as const)
    test(`${what}: ${expected}`, () => {
      const node = nodeWith(makeNode('n', { labels: nodeLabels }));
      assert.equal(
        ask(volumeZone(storage(volumeLabels)), withVolumes('p', ...claimed('data')), node),
        expected,
      );
    });

  test('says what is missing', () => {
    const node = nodeWith(makeNode('n'));
    const pod = withVolumes('p', ...claimed('data'));
    const never = 'UnschedulableAndUnresolvable: ';
    assert.equal(ask(volumeZone(view([])), pod, node), `${never}persistentvolumeclaim "data" not found`);
    assert.equal(
      ask(volumeZone(view([claim('data', {})])), pod, node),
      `${never}PersistentVolumeClaim had no pv name and storageClass name`,
    );
    const unbound = view([claim('data', { storageClassName: 's' })]);
    assert.equal(ask(volumeZone(unbound), pod, node), `${never}storageclass.storage.k8s.io "s" not found`);
    const delayed = { metadata: { name: 's' }, provisioner: 'x', volumeBindingMode: 'WaitForFirstConsumer' };
    assert.equal(ask(volumeZone({ ...unbound, storageClass: () => delayed }), pod, node), 'skipped');
  });
});
