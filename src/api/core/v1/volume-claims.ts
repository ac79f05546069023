// PersistentVolumes and their claims: rows and defaults.
import type { Json } from '../../../apimachinery/declaration.ts';
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell, orUnset } from '../../meta/row-cells.ts';
import { prepareDataSources } from './claim-data-sources.ts';
import { validateClaim, validateClaimUpdate } from './validate-claims.ts';
import { validateVolume, validateVolumeUpdate } from './validate-persistent-volume.ts';
import { validateClaimStatus } from './validate-statuses.ts';
import { claimWarnings, volumeWarnings } from './volume-warnings.ts';

const classAnnotation = 'volume.beta.kubernetes.io/storage-class';
const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
/** In upstream's order, each once. */
const accessModes = (modes: readonly string[] | undefined): string =>
  Object.keys(shortModes)
    .filter((mode) => (modes ?? []).includes(mode))
    .map((mode) => shortModes[mode])
    .join(',');
const className = (object: Decoded<PersistentVolume | PersistentVolumeClaim>): string =>
  (object.metadata?.annotations?.[classAnnotation] ?? '') || (object.spec?.storageClassName ?? '');

function claimRow(claim: Decoded<PersistentVolumeClaim>, now: number): Json[] {
  const s = claim.spec ?? {};
  const bound = !!s.volumeName;
  return [
    nameCell(claim),
    claim.metadata?.deletionTimestamp === undefined ? (claim.status?.phase ?? '') : 'Terminating',
    s.volumeName ?? '',
    bound ? (claim.status?.capacity?.storage ?? '') : '',
    bound ? accessModes(claim.status?.accessModes) : '',
    className(claim),
    orUnset(s.volumeAttributesClassName ?? ''),
    ageCell(claim, now),
    orUnset(s.volumeMode ?? ''),
  ];
}

function volumeRow(volume: Decoded<PersistentVolume>, now: number): Json[] {
  const s = volume.spec ?? {};
  const claim = s.claimRef;
  return [
    nameCell(volume),
    s.capacity?.storage ?? '',
    accessModes(s.accessModes),
    s.persistentVolumeReclaimPolicy ?? '',
    volume.metadata?.deletionTimestamp === undefined ? (volume.status?.phase ?? '') : 'Terminating',
    claim !== undefined ? `${claim.namespace ?? ''}/${claim.name ?? ''}` : '',
    className(volume),
    orUnset(s.volumeAttributesClassName ?? ''),
    volume.status?.reason ?? '',
    ageCell(volume, now),
    orUnset(s.volumeMode ?? ''),
  ];
}

export const persistentVolumeClaim: KindBehaviour<PersistentVolumeClaim> = {
  ownUpdateRules: true,
  row: claimRow,
  strategy: {
    applyDefaults(claim) {
      ensured(claim, 'status').phase ??= 'Pending';
      ensured(claim, 'spec').volumeMode ??= 'Filesystem';
    },
    prepareForCreate(claim) {
      claim.status = { phase: 'Pending' };
      prepareDataSources(ensured(claim, 'spec'), undefined);
    },
    prepareForUpdate(claim, old, { subresource }) {
      if (subresource === '') prepareDataSources(ensured(claim, 'spec'), old.spec ?? {});
    },
    validate: validateClaim,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateClaimStatus(o) : validateClaimUpdate(o, old),
    warnings: claimWarnings,
  },
};

export const persistentVolume: KindBehaviour<PersistentVolume> = {
  row: volumeRow,
  strategy: {
    applyDefaults(volume) {
      ensured(volume, 'status').phase ??= 'Pending';
      const s = ensured(volume, 'spec');
      s.persistentVolumeReclaimPolicy ??= 'Retain';
      s.volumeMode ??= 'Filesystem';
      if (s.hostPath !== undefined) s.hostPath.type ??= '';
    },
    prepareForCreate(volume) {
      volume.status = { phase: 'Pending' };
    },
    validate: validateVolume,
    validateUpdate: validateVolumeUpdate,
    warnings: volumeWarnings,
  },
};
