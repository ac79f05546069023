// Makes a directory of the pod's node the volume of a claim, and gives the volume up after it.
import {
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  storageclasses,
} from '../api/generated/resources.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { classOf } from '../component-helpers/volume-match.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { localPathProvisioner, localVolume, volumeNameFor } from './storage/local-volume.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';

export const localPathController: Controller = defineController({
  name: 'local-path-controller',
  serviceAccount: 'persistent-volume-binder',
  for: persistentvolumeclaims,
  reads: [nodes],
  access: [may(['create', 'delete'], persistentvolumes), mayRecordEvents],
  watches: [
    // Keys without a namespace are volumes.
    watching(persistentvolumes, ({ metadata }) =>
      metadata.annotations?.[provisionedBy] === localPathProvisioner ? [metadata.name] : [],
    ),
    watching(storageclasses, (_, { type }, context) =>
      type === 'deleted' ? [] : context.read(persistentvolumeclaims).list().map(objectKey),
    ),
  ],
  async reconcile({ name, namespace }, context) {
    if (namespace === undefined) {
      const volume = context.read(persistentvolumes).get(name);
      const isOver =
        volume?.status?.phase === 'Released' &&
        volume.spec?.persistentVolumeReclaimPolicy === 'Delete' &&
        volume.metadata.deletionTimestamp === undefined;
      if (isOver) await context.write.delete(persistentvolumes, { name });
      return undefined;
    }
    const claim = context.read(persistentvolumeclaims).get(name, namespace);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
    const storageClass = context.read(storageclasses).get(classOf(claim));
    const node = context.read(nodes).get(claim.metadata.annotations?.[selectedNode] ?? '');
    if (storageClass?.provisioner !== localPathProvisioner || node === undefined) return undefined;
    if ((claim.spec?.volumeName ?? '') !== '') return undefined;
    if (context.read(persistentvolumes).get(volumeNameFor(claim)) !== undefined) return undefined;
    const about = referenceTo(persistentvolumeclaims, claim);
    try {
      const host = node.metadata.labels?.['kubernetes.io/hostname'] ?? node.metadata.name;
      const volume = await context.write.create(persistentvolumes, localVolume(claim, storageClass, host));
      context.events.event(
        about,
        'Normal',
        'ProvisioningSucceeded',
        `Successfully provisioned volume ${volume.metadata.name}`,
      );
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return undefined;
      const why = error instanceof Error ? error.message : String(error);
      const message = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}: ${why}`;
      context.events.event(about, 'Warning', 'ProvisioningFailed', message);
      throw error;
    }
    return undefined;
  },
});
