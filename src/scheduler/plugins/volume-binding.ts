// VolumeBinding: a pod waits for its claims; bound volumes choose its nodes; claims that wait for it learn its node.
import { persistentvolumeclaims } from '../../api/generated/resources.ts';
import type { PersistentVolumeClaim, Pod, Volume } from '../../api/generated/types/core-v1.ts';
import type { Client } from '../../client/client.ts';
import { claimOf, claimsOf, foreignClaim } from '../../component-helpers/pod-claims.ts';
import { classOf, findVolume, isReachable } from '../../component-helpers/volume-match.ts';
import type { PluginArgs } from '../config/plugin-args.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { Plugin } from '../framework/plugin.ts';
import { failure, skip, unresolvable } from '../framework/status.ts';
import { ofOwnClaim, type StorageView, volumeEvents } from '../framework/storage.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';

interface Claims {
  readonly bound: readonly PersistentVolumeClaim[];
  /** They get a volume on the node that the pod gets. */
  readonly delayed: readonly PersistentVolumeClaim[];
}
const key = stateKey<Claims>('VolumeBinding');

const isBound = (claim: PersistentVolumeClaim | undefined): boolean =>
  (claim?.spec?.volumeName ?? '') !== '' &&
  claim?.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;

/** The claim of one volume, or why the pod must wait. */
function claimFor(
  pod: Pod,
  { ephemeral }: Volume,
  name: string,
  view: StorageView,
): PersistentVolumeClaim | string {
  const claim = view.claim(name, pod.metadata.namespace ?? '');
  const shown = `persistentvolumeclaim ${JSON.stringify(name)}`;
  if (claim === undefined)
    return ephemeral === undefined
      ? `${shown} not found`
      : `waiting for ephemeral volume controller to create the ${shown}`;
  if (claim.status?.phase === 'Lost')
    return `${shown} bound to non-existent persistentvolume ${JSON.stringify(claim.spec?.volumeName ?? '')}`;
  if (claim.metadata.deletionTimestamp !== undefined) return `${shown} is being deleted`;
  return (ephemeral === undefined ? undefined : foreignClaim(pod, claim)) ?? claim;
}

/** The claims of a pod, or why it must wait. */
function claimsOfPod(pod: Pod, view: StorageView): Claims | string {
  const bound: PersistentVolumeClaim[] = [];
  const delayed: PersistentVolumeClaim[] = [];
  let immediate = false;
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimOf(pod, volume);
    if (name === undefined) continue;
    const claim = claimFor(pod, volume, name, view);
    if (typeof claim === 'string') return claim;
    if (isBound(claim)) bound.push(claim);
    else if (
      (claim.spec?.volumeName ?? '') === '' &&
      view.storageClass(classOf(claim))?.volumeBindingMode === 'WaitForFirstConsumer'
    )
      delayed.push(claim);
    else immediate = true;
  }
  return immediate ? 'pod has unbound immediate PersistentVolumeClaims' : { bound, delayed };
}

export function volumeBinding(
  client: Client,
  view: StorageView,
  { bindTimeoutSeconds }: PluginArgs['VolumeBinding'],
): Plugin {
  return {
    name: 'VolumeBinding',
    requeueOn: [
      ofOwnClaim,
      ...volumeEvents,
      'storage.k8s.io/CSINodeAdd',
      'storage.k8s.io/CSINodeUpdate',
      'NodeAdd',
      'NodeUpdateNodeLabel',
    ],
    preFilter: (state, pod) => {
      if (claimsOf(pod).length === 0) return { status: skip };
      const claims = claimsOfPod(pod, view);
      if (typeof claims === 'string') return { status: unresolvable(claims) };
      state.write(key, claims);
      return undefined;
    },
    filter: (state, _pod, { node }) => {
      const { bound = [], delayed = [] } = state.read(key) ?? {};
      for (const claim of bound) {
        const volume = view.volume(claim.spec?.volumeName ?? '');
        if (volume === undefined)
          return unresolvable('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
        if (!isReachable(volume, node))
          return unresolvable("node(s) didn't match PersistentVolume's node affinity");
      }
      for (const claim of delayed) {
        const provisioner = view.storageClass(classOf(claim))?.provisioner;
        const isStatic = provisioner === undefined || provisioner === 'kubernetes.io/no-provisioner';
        if (isStatic && findVolume(claim, view.volumes(), node) === undefined)
          return unresolvable("node(s) didn't find available persistent volumes to bind");
      }
      return undefined;
    },
    preBind: async (state, _pod, node) => {
      const { delayed = [] } = state.read(key) ?? {};
      const now = (claim: PersistentVolumeClaim): PersistentVolumeClaim | undefined =>
        view.claim(claim.metadata.name, claim.metadata.namespace ?? '');
      if (delayed.length === 0) return undefined;
      try {
        for (const { metadata } of delayed) {
          const body = { metadata: { annotations: { [selectedNode]: node } } };
          await client.patch(persistentvolumeclaims, metadata, { type: 'merge', body });
        }
      } catch (cause) {
        return failure(`binding volumes: ${cause instanceof Error ? cause.message : String(cause)}`);
      }
      const isDone = await view.until(
        () => delayed.every((claim) => isBound(now(claim))),
        bindTimeoutSeconds * 1_000,
      );
      return isDone ? undefined : unresolvable('binding volumes: timed out waiting for the condition');
    },
  };
}
