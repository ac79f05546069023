// VolumeRestrictions: disks that take one pod at a time, and claims that are for one pod in the whole cluster.
import type { Pod, Volume } from '../../api/generated/types/core-v1.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { NodeInfo, PodInfo } from '../framework/node-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { skip, unresolvable, unschedulable } from '../framework/status.ts';
import { ofOwnClaim, type StorageView } from '../framework/storage.ts';

interface Wanted {
  /** Claims with access mode ReadWriteOncePod. */
  readonly claims: ReadonlySet<string>;
  /** How often others use them. */
  readonly used: number;
}
const key = stateKey<Wanted>('VolumeRestrictions', (wanted) => ({ ...wanted }));

const overlap = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.some((one) => b.includes(one));

interface Readable {
  readonly readOnly?: boolean | undefined;
}

/** Upstream's isVolumeConflict: the same disk, and not both only read it where that is enough. */
function conflicts(a: Volume, b: Volume): boolean {
  const bothRead = (x: Readable, y: Readable): boolean => x.readOnly === true && y.readOnly === true;
  if (a.gcePersistentDisk && b.gcePersistentDisk)
    return (
      a.gcePersistentDisk.pdName === b.gcePersistentDisk.pdName &&
      !bothRead(a.gcePersistentDisk, b.gcePersistentDisk)
    );
  if (a.awsElasticBlockStore && b.awsElasticBlockStore)
    return a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID;
  if (a.iscsi && b.iscsi) return a.iscsi.iqn === b.iscsi.iqn && !bothRead(a.iscsi, b.iscsi);
  if (a.rbd && b.rbd)
    return (
      overlap(a.rbd.monitors, b.rbd.monitors) &&
      (a.rbd.pool ?? 'rbd') === (b.rbd.pool ?? 'rbd') &&
      a.rbd.image === b.rbd.image &&
      !bothRead(a.rbd, b.rbd)
    );
  return false;
}

const isDisk = (volume: Volume): boolean =>
  volume.gcePersistentDisk !== undefined ||
  volume.awsElasticBlockStore !== undefined ||
  volume.iscsi !== undefined ||
  volume.rbd !== undefined;

const disksOf = (pod: Pod): Volume[] => (pod.spec.volumes ?? []).filter(isDisk);

const shareDisk = (a: readonly Volume[], pod: Pod): boolean =>
  (pod.spec.volumes ?? []).some((theirs) => isDisk(theirs) && a.some((ours) => conflicts(ours, theirs)));

function takesDiskOf(pod: Pod, node: NodeInfo): boolean {
  const disks = disksOf(pod);
  return disks.length > 0 && node.pods.values().some((other) => shareDisk(disks, other.pod));
}

/** Claims of the pod that are for it alone, or the one that is missing. */
function exclusiveClaims({ metadata, spec }: Pod, view: StorageView): Set<string> | string {
  const namespace = metadata.namespace ?? '';
  const found = new Set<string>();
  for (const { persistentVolumeClaim: named } of spec.volumes ?? []) {
    if (named === undefined) continue;
    const claim = view.claim(named.claimName, namespace);
    if (claim === undefined) return `persistentvolumeclaim ${JSON.stringify(named.claimName)} not found`;
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) found.add(`${namespace}/${named.claimName}`);
  }
  return found;
}

function recount(wanted: Wanted | undefined, other: PodInfo, by: 1 | -1): Wanted | undefined {
  if (wanted === undefined) return undefined;
  const shared = other.claims.filter((claim) => wanted.claims.has(claim)).length;
  return { ...wanted, used: wanted.used + by * shared };
}

export const volumeRestrictions = (view: StorageView): Plugin => ({
  name: 'VolumeRestrictions',
  requeueOn: [
    'NodeAdd',
    ofOwnClaim,
    {
      on: ['AssignedPodDelete'],
      helps: (pod, { oldPod: gone }) =>
        gone === undefined ||
        (gone.metadata.namespace === pod.metadata.namespace &&
          (shareDisk(disksOf(pod), gone) ||
            overlap(
              (pod.spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []),
              (gone.spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []),
            ))),
    },
  ],
  preFilter: (state, pod, snapshot) => {
    if (pod.spec.volumes === undefined) return { status: skip };
    const claims = exclusiveClaims(pod, view);
    if (typeof claims === 'string') return { status: unresolvable(claims) };
    if (claims.size === 0 && disksOf(pod).length === 0) return { status: skip };
    let used = 0;
    for (const claim of claims) for (const node of snapshot.nodes) used += node.usedClaims.get(claim) ?? 0;
    state.write(key, { claims, used });
    return undefined;
  },
  addPod: (state, _pod, other) => {
    const wanted = recount(state.read(key), other, 1);
    if (wanted) state.write(key, wanted);
  },
  removePod: (state, _pod, other) => {
    const wanted = recount(state.read(key), other, -1);
    if (wanted) state.write(key, wanted);
  },
  filter: (state, pod, node) => {
    if (takesDiskOf(pod, node)) return unschedulable('node(s) had no available disk');
    return (state.read(key)?.used ?? 0) > 0
      ? unschedulable(
          'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
        )
      : undefined;
  },
});
