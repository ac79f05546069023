// Finds volumes for claims, and says of each volume whether it is free, bound or left behind.
import {
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  storageclasses,
} from '../api/generated/resources.ts';
import type { PersistentVolumeClaim } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { classOf, findVolume, isFor, phaseOf } from '../component-helpers/volume-match.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  watching,
} from '../controller-runtime/define-controller.ts';
import { bindClaim, bindCompleted } from './storage/bind-claim.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';
const provisionerOf = 'volume.kubernetes.io/storage-provisioner';

const isPending = (claim: PersistentVolumeClaim): boolean =>
  claim.metadata.annotations?.[bindCompleted] === undefined;

function say(
  context: ControllerContext,
  claim: PersistentVolumeClaim,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  context.events.event(referenceTo(persistentvolumeclaims, claim), type, reason, message);
}

/** Nothing fits: somebody must make a volume. */
async function askForVolume(context: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  const name = classOf(claim);
  if (name === '')
    return say(
      context,
      claim,
      'Normal',
      'FailedBinding',
      'no persistent volumes available for this claim and no storage class is set',
    );
  const storageClass = context.read(storageclasses).get(name);
  if (storageClass === undefined)
    return say(
      context,
      claim,
      'Warning',
      'ProvisioningFailed',
      `storageclass.storage.k8s.io ${JSON.stringify(name)} not found`,
    );
  const { provisioner } = storageClass;
  if (provisioner === 'kubernetes.io/no-provisioner')
    return say(
      context,
      claim,
      'Warning',
      'ProvisioningFailed',
      `no volume plugin matched name: ${provisioner}`,
    );
  if (claim.metadata.annotations?.[provisionerOf] !== provisioner)
    await context.write.update(persistentvolumeclaims, {
      ...claim,
      metadata: {
        ...claim.metadata,
        annotations: { ...claim.metadata.annotations, [provisionerOf]: provisioner },
      },
    });
  say(
    context,
    claim,
    'Normal',
    'ExternalProvisioning',
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the ` +
      'system administrator. If volume creation is delayed, please verify that the provisioner is running and ' +
      'correctly registered.',
  );
}

async function bindPending(context: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  const volumes = context.read(persistentvolumes).list();
  const chosen = claim.spec?.volumeName ?? '';
  if (chosen !== '') {
    const volume = context.read(persistentvolumes).get(chosen);
    if (volume !== undefined && (volume.spec?.claimRef === undefined || isFor(volume, claim)))
      await bindClaim(context, claim, volume);
    return;
  }
  const kept = volumes.find((volume) => isFor(volume, claim));
  const node = claim.metadata.annotations?.[selectedNode];
  const mode = context.read(storageclasses).get(classOf(claim))?.volumeBindingMode;
  if (kept === undefined && node === undefined && mode === 'WaitForFirstConsumer')
    return say(
      context,
      claim,
      'Normal',
      'WaitForFirstConsumer',
      'waiting for first consumer to be created before binding',
    );
  const volume = findVolume(claim, volumes, node === undefined ? undefined : context.read(nodes).get(node));
  if (volume === undefined) await askForVolume(context, claim);
  else await bindClaim(context, claim, volume);
}

async function syncClaim(context: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  if (isPending(claim)) {
    if (claim.metadata.deletionTimestamp === undefined) await bindPending(context, claim);
    return;
  }
  const volume = context.read(persistentvolumes).get(claim.spec?.volumeName ?? '');
  if (volume !== undefined && (volume.spec?.claimRef === undefined || isFor(volume, claim)))
    return bindClaim(context, claim, volume);
  if (claim.status?.phase === 'Lost') return;
  await context.write.update(
    persistentvolumeclaims,
    { ...claim, status: { ...claim.status, phase: 'Lost' } },
    { subresource: 'status' },
  );
  const message =
    volume === undefined
      ? 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'
      : 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!';
  say(context, claim, 'Warning', volume === undefined ? 'ClaimLost' : 'ClaimMisbound', message);
}

async function syncVolume(context: ControllerContext, name: string): Promise<void> {
  const volume = context.read(persistentvolumes).get(name);
  if (volume === undefined) return;
  const reference = volume.spec?.claimRef;
  let claim =
    reference === undefined
      ? undefined
      : context.read(persistentvolumeclaims).get(reference.name ?? '', reference.namespace);
  if (reference?.uid !== undefined && claim?.metadata.uid !== reference.uid)
    // Before a volume is given up, the server is asked: the informer may be behind. No answer is not a no.
    claim = await context.write
      .get(persistentvolumeclaims, { name: reference.name ?? '', namespace: reference.namespace })
      .catch((error: unknown) => {
        if (isStatusError(error, 'NotFound')) return undefined;
        throw error;
      });
  const phase = phaseOf(volume, claim);
  if (phase === volume.status?.phase) return;
  await context.write.update(
    persistentvolumes,
    { ...volume, status: { ...volume.status, phase } },
    { subresource: 'status' },
  );
}

export const persistentVolumeBinderController: Controller = defineController({
  name: 'persistentvolume-binder-controller',
  queue: 'claims',
  serviceAccount: 'persistent-volume-binder',
  for: persistentvolumeclaims,
  reads: [nodes],
  access: [
    may(['get', 'update'], persistentvolumeclaims),
    may('update', persistentvolumeclaims, 'status'),
    may('update', persistentvolumes),
    may('update', persistentvolumes, 'status'),
    mayRecordEvents,
  ],
  // One at a time: two claims never take the same volume. Keys without a namespace are volumes.
  concurrency: 1,
  watches: [
    watching(persistentvolumes, (volume, { type }, context) => {
      const reference = volume.spec?.claimRef;
      const claims = context.read(persistentvolumeclaims);
      if (reference !== undefined)
        return [volume.metadata.name, keyOf(reference.name ?? '', reference.namespace)];
      const waiting = type === 'deleted' ? [] : claims.list().filter(isPending);
      return [volume.metadata.name, ...waiting.map(objectKey)];
    }),
    watching(persistentvolumeclaims, ({ spec }) =>
      (spec?.volumeName ?? '') === '' ? [] : [spec?.volumeName ?? ''],
    ),
    watching(storageclasses, (_, { type }, context) =>
      type === 'deleted' ? [] : context.read(persistentvolumeclaims).list().filter(isPending).map(objectKey),
    ),
  ],
  async reconcile({ name, namespace }, context) {
    if (namespace === undefined) await syncVolume(context, name);
    else {
      const claim = context.read(persistentvolumeclaims).get(name, namespace);
      if (claim !== undefined) await syncClaim(context, claim);
    }
    return undefined;
  },
});
