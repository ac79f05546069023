// PersistentVolumes and their claims: rows and defaults.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import {
  ensure,
  isObject,
  meta,
  obj,
  setDefault,
  spec,
  status,
  str,
  strs,
} from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell, orUnset } from '../../meta/row-cells.ts';
import {
  validateClaim,
  validateClaimUpdate,
  validateVolume,
  validateVolumeUpdate,
} from './validate-claims.ts';

const classAnnotation = 'volume.beta.kubernetes.io/storage-class';
const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
/** In upstream's order, each once. */
const accessModes = (modes: Json | undefined): string =>
  Object.keys(shortModes)
    .filter((mode) => strs(modes).includes(mode))
    .map((mode) => shortModes[mode])
    .join(',');
const className = (object: JsonObject): string =>
  str(obj(meta(object)['annotations'])[classAnnotation]) || str(spec(object)['storageClassName']);

function claimRow(claim: JsonObject, now: number): Json[] {
  const s = spec(claim);
  const bound = str(s['volumeName']) !== '';
  return [
    nameCell(claim),
    meta(claim)['deletionTimestamp'] === undefined ? str(status(claim)['phase']) : 'Terminating',
    str(s['volumeName']),
    bound ? str(obj(status(claim)['capacity'])['storage']) : '',
    bound ? accessModes(status(claim)['accessModes']) : '',
    className(claim),
    orUnset(str(s['volumeAttributesClassName'])),
    ageCell(claim, now),
    orUnset(str(s['volumeMode'])),
  ];
}

function volumeRow(volume: JsonObject, now: number): Json[] {
  const s = spec(volume);
  const claim = s['claimRef'];
  return [
    nameCell(volume),
    str(obj(s['capacity'])['storage']),
    accessModes(s['accessModes']),
    str(s['persistentVolumeReclaimPolicy']),
    meta(volume)['deletionTimestamp'] === undefined ? str(status(volume)['phase']) : 'Terminating',
    isObject(claim) ? `${str(claim['namespace'])}/${str(claim['name'])}` : '',
    className(volume),
    orUnset(str(s['volumeAttributesClassName'])),
    str(status(volume)['reason']),
    ageCell(volume, now),
    orUnset(str(s['volumeMode'])),
  ];
}

export const persistentVolumeClaim: KindBehaviour = {
  ownUpdateRules: true,
  row: claimRow,
  strategy: {
    applyDefaults(claim) {
      setDefault(ensure(claim, 'status'), 'phase', 'Pending');
      setDefault(ensure(claim, 'spec'), 'volumeMode', 'Filesystem');
    },
    prepareForCreate(claim) {
      claim['status'] = { phase: 'Pending' };
    },
    validate: validateClaim,
    validateUpdate: validateClaimUpdate,
  },
};

export const persistentVolume: KindBehaviour = {
  row: volumeRow,
  strategy: {
    applyDefaults(volume) {
      setDefault(ensure(volume, 'status'), 'phase', 'Pending');
      const s = ensure(volume, 'spec');
      setDefault(s, 'persistentVolumeReclaimPolicy', 'Retain');
      setDefault(s, 'volumeMode', 'Filesystem');
      if (isObject(s['hostPath'])) setDefault(s['hostPath'], 'type', '');
    },
    prepareForCreate(volume) {
      volume['status'] = { phase: 'Pending' };
    },
    validate: validateVolume,
    validateUpdate: validateVolumeUpdate,
  },
};
