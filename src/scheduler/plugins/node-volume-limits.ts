// NodeVolumeLimits: a node attaches no more volumes of a CSI driver than the driver says there.
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import type { CSINode } from '../../api/generated/types/storage-v1.ts';
import { claimsOf } from '../../component-helpers/pod-claims.ts';
import { classOf } from '../../component-helpers/volume-match.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { skip, unschedulable } from '../framework/status.ts';
import { ofOwnClaim, type StorageView } from '../framework/storage.ts';

/** By driver; one that names no number has no limit. */
function limitsOf(node: CSINode | undefined): Map<string, number> {
  const limits = new Map<string, number>();
  for (const { allocatable, name } of node?.spec.drivers ?? [])
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  return limits;
}

/** The driver of a claim's volume, or of the one that it is going to get, and a name that tells volumes apart. */
function driverOf(
  claim: PersistentVolumeClaim,
  view: StorageView,
): { readonly driver: string; readonly volume: string } | undefined {
  const volume = view.volume(claim.spec?.volumeName ?? '');
  const { csi } = volume?.spec ?? {};
  if (csi) return { driver: csi.driver, volume: `${csi.driver}/${csi.volumeHandle}` };
  if (volume) return undefined;
  const { provisioner } = view.storageClass(classOf(claim)) ?? {};
  const { name, namespace } = claim.metadata;
  return provisioner === undefined
    ? undefined
    : { driver: provisioner, volume: `${provisioner}/claim-${namespace}/${name}` };
}

/** The driver of each volume that the pod needs. */
function volumesOf(pod: Pod, view: StorageView, into: Map<string, string> = new Map()): Map<string, string> {
  for (const name of claimsOf(pod)) {
    const claim = view.claim(name, pod.metadata.namespace ?? '');
    const found = claim && driverOf(claim, view);
    if (found) into.set(found.volume, found.driver);
  }
  return into;
}

function countBy(drivers: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const driver of drivers) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
}

/** All that is or will be attached: what pods use, and what is attached though no pod uses it any more. */
function attachedTo(node: NodeInfo, view: StorageView): Map<string, string> {
  const attached = new Map<string, string>();
  for (const { pod } of node.pods.values())
    if (pod.spec.volumes !== undefined) volumesOf(pod, view, attached);
  for (const { spec } of view.attachments(node.name)) {
    const { csi } = view.volume(spec.source.persistentVolumeName ?? '')?.spec ?? {};
    if (csi?.driver === spec.attacher) attached.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
  }
  return attached;
}

const hasClaims = (pod: Pod): boolean => claimsOf(pod).length > 0;

export const nodeVolumeLimits = (view: StorageView): Plugin => ({
  name: 'NodeVolumeLimits',
  requeueOn: [
    ofOwnClaim,
    { on: ['AssignedPodDelete'], helps: (_pod, { oldPod }) => oldPod === undefined || hasClaims(oldPod) },
    {
      on: ['storage.k8s.io/CSINodeAdd', 'storage.k8s.io/CSINodeUpdate'],
      helps: (_pod, { csiNode, oldCsiNode }) => {
        const [before, now] = [limitsOf(oldCsiNode), limitsOf(csiNode)];
        const more = now.entries().some(([driver, count]) => count > (before.get(driver) ?? 0));
        return oldCsiNode === undefined || more || before.keys().some((driver) => !now.has(driver));
      },
    },
    'storage.k8s.io/VolumeAttachmentDelete',
  ],
  preFilter: (_state, pod) => (hasClaims(pod) ? undefined : { status: skip }),
  filter: (_state, pod, node) => {
    const limits = limitsOf(view.csiNode(node.name));
    if (limits.size === 0) return undefined;
    const wanted = volumesOf(pod, view);
    if (wanted.size === 0) return undefined;
    const attached = attachedTo(node, view);
    for (const volume of attached.keys()) wanted.delete(volume);
    const there = countBy(attached.values());
    for (const [driver, count] of countBy(wanted.values()))
      if ((there.get(driver) ?? 0) + count > (limits.get(driver) ?? Number.POSITIVE_INFINITY))
        return unschedulable('node(s) exceed max volume count');
    return undefined;
  },
});
