// A volume that is a directory of one node. Pure.
import { persistentvolumeclaims } from '../../api/generated/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types/core-v1.ts';
import type { StorageClass } from '../../api/generated/types/storage-v1.ts';
import { withoutTrailing } from '../../base/without-trailing.ts';
import { referenceTo } from '../../client/event-recorder.ts';

export const localPathProvisioner = 'porthole.dev/local-path';
/** Where the directories lie on a node when the class does not say. */
const defaultRoot = '/var/lib/porthole-volumes';
const hostname = 'kubernetes.io/hostname';

export const volumeNameFor = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`;

/** A root that leads out of itself is nobody's wish. */
const isRoot = (path: string): boolean => /^\/[^\0]+$/.test(path) && !path.split('/').includes('..');

export function localVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: string,
): PersistentVolume {
  const { namespace, name } = claim.metadata;
  const wanted = storageClass.parameters?.['path'] ?? defaultRoot;
  if (!isRoot(wanted)) throw new Error(`parameter path: ${JSON.stringify(wanted)} is no absolute path`);
  const volume = volumeNameFor(claim);
  return {
    metadata: {
      name: volume,
      annotations: { 'pv.kubernetes.io/provisioned-by': localPathProvisioner },
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.['storage'] ?? '0' },
      accessModes: claim.spec?.accessModes,
      volumeMode: 'Filesystem',
      storageClassName: storageClass.metadata.name,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      claimRef: referenceTo(persistentvolumeclaims, claim),
      hostPath: {
        path: `${withoutTrailing(wanted, '/')}/${volume}_${namespace}_${name}`,
        type: 'DirectoryOrCreate',
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: 'In', values: [node] }] }],
        },
      },
    },
  };
}
