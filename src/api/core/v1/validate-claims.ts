// PersistentVolumes and claims: what they must say and what may change.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { compareQuantities, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { changedFields, labelSelector, named, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';
import { driverNameErrors } from './csi-driver-name.ts';
import { validateQuantity } from './validate-resources.ts';
import { validateNodeSelector } from './validate-scheduling.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

function modeErrors(field: string, given: readonly string[] = []): Errors {
  const errors: Errors = given.flatMap((mode) => oneOf(field, mode, modes));
  if (given.includes('ReadWriteOncePod') && given.length > 1)
    errors.push(forbidden(field, 'may not use ReadWriteOncePod with other access modes'));
  return errors;
}

/** The spec of a claim; `at` is where it stands, for templates. */
export function validateClaimSpec(s: Decoded<PersistentVolumeClaimSpec>, at: string): Errors {
  const errors: Errors = [];
  if ((s.accessModes ?? []).length === 0)
    errors.push(required(`${at}.accessModes`, 'at least 1 access mode is required'));
  else errors.push(...modeErrors(`${at}.accessModes`, s.accessModes));
  errors.push(...labelSelector(`${at}.selector`, s.selector));
  const storage = s.resources?.requests?.storage;
  if (storage === undefined) errors.push(required(`${at}.resources[storage]`));
  else errors.push(...positive(`${at}.resources[storage]`, storage));
  if (s.volumeMode !== undefined)
    errors.push(...oneOf(`${at}.volumeMode`, s.volumeMode, ['Block', 'Filesystem']));
  return errors;
}

const positive = (field: string, value: Quantity): Errors =>
  (tryParseQuantity(value)?.nano ?? 1n) <= 0n
    ? [invalid(field, String(value), 'must be greater than zero')]
    : [];

export const validateClaim = (claim: Decoded<PersistentVolumeClaim>): Errors =>
  validateClaimSpec(claim.spec ?? {}, 'spec');

export function validateClaimUpdate(
  claim: Decoded<PersistentVolumeClaim>,
  old: Decoded<PersistentVolumeClaim>,
): Errors {
  const { spec: s = {} } = claim;
  const { spec: before = {} } = old;
  const errors: Errors = [];
  const munged: Decoded<PersistentVolumeClaimSpec> = {
    ...s,
    resources: before.resources,
    volumeAttributesClassName: before.volumeAttributesClassName,
  };
  // A claim is bound by writing its volume's name once.
  if (!before.volumeName) munged.volumeName = before.volumeName;
  if (before.storageClassName === undefined) munged.storageClassName = before.storageClassName;
  const changed = changedFields(munged, before);
  if (changed.length > 0)
    errors.push(
      forbidden(
        'spec',
        `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${changed.map((k) => `changed: spec.${k}`).join('\n')}`,
      ),
    );
  const [next, was] = [storageOf(s), storageOf(before)];
  if (next && was && compareQuantities(next, was) !== 0) {
    if (old.status?.phase !== 'Bound')
      errors.push(
        forbidden(
          'spec',
          'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\nchanged: spec.resources',
        ),
      );
    const capacity = tryParseQuantity(old.status?.capacity?.storage);
    if (capacity && compareQuantities(next, was) < 0 && compareQuantities(next, capacity) < 0)
      errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  return errors;
}
const storageOf = (s: Decoded<PersistentVolumeClaimSpec>): ReturnType<typeof tryParseQuantity> =>
  tryParseQuantity(s.resources?.requests?.storage);

const sources = new Set([
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'csi',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'glusterfs',
  'hostPath',
  'iscsi',
  'local',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
]);

export function validateVolume(volume: Decoded<PersistentVolume>): Errors {
  const s: Decoded<PersistentVolumeSpec> = volume.spec ?? {};
  const errors: Errors = [];
  if ((s.accessModes ?? []).length === 0) errors.push(required('spec.accessModes'));
  else errors.push(...modeErrors('spec.accessModes', s.accessModes));
  const capacity = s.capacity ?? {};
  if (Object.keys(capacity).length === 0) errors.push(required('spec.capacity'));
  else if (capacity.storage === undefined || Object.keys(capacity).length > 1)
    errors.push({
      type: 'FieldValueNotSupported',
      field: 'spec.capacity',
      message: `Unsupported value: ${JSON.stringify(capacity)}: supported values: "storage"`,
    });
  for (const [name, value] of Object.entries(capacity))
    if (value !== undefined)
      errors.push(
        ...validateQuantity(`spec.capacity[${name}]`, value, 'memory'),
        ...positive(`spec.capacity[${name}]`, value),
      );
  errors.push(
    ...oneOf('spec.persistentVolumeReclaimPolicy', s.persistentVolumeReclaimPolicy ?? 'Retain', [
      'Delete',
      'Recycle',
      'Retain',
    ]),
  );
  const given = Object.keys(s).filter((k) => sources.has(k));
  if (given.length === 0) errors.push(required('spec', 'must specify a volume type'));
  for (const extra of given.slice(1))
    errors.push(forbidden(`spec.${extra}`, 'may not specify more than 1 volume type'));
  const hostPath = s.hostPath?.path ?? '';
  if (given.includes('hostPath') && hostPath === '') errors.push(required('spec.hostPath.path'));
  if (hostPath.split('/').includes('..'))
    errors.push(invalid('spec.hostPath.path', hostPath, "must not contain '..'"));
  if (s.csi !== undefined) errors.push(...csiErrors(s.csi, 'spec.csi'));
  if (given.includes('local') && s.nodeAffinity === undefined)
    errors.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
  errors.push(...validateNodeSelector(s.nodeAffinity?.required, 'spec.nodeAffinity.required'));
  if (s.volumeMode !== undefined)
    errors.push(...oneOf('spec.volumeMode', s.volumeMode, ['Block', 'Filesystem']));
  return errors;
}

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function csiErrors(csi: Decoded<CSIPersistentVolumeSource>, at: string): Errors {
  return [
    ...driverNameErrors(`${at}.driver`, csi.driver),
    ...(csi.volumeHandle ? [] : [required(`${at}.volumeHandle`)]),
    ...csiSecrets.flatMap((key) => {
      const secret = csi[key];
      if (secret === undefined) return [];
      return [
        ...named(`${at}.${key}.name`, secret.name, dnsSubdomain),
        ...named(`${at}.${key}.namespace`, secret.namespace, dnsLabel),
      ];
    }),
  ];
}

export function validateVolumeUpdate(
  volume: Decoded<PersistentVolume>,
  old: Decoded<PersistentVolume>,
): Errors {
  const source = (o: Decoded<PersistentVolume>): object =>
    Object.fromEntries(Object.entries(o.spec ?? {}).filter(([k]) => sources.has(k)));
  const errors: Errors = [];
  if (!semanticEqual(source(volume), source(old)))
    errors.push(
      forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'),
    );
  if (!semanticEqual(volume.spec?.volumeMode, old.spec?.volumeMode))
    errors.push(invalid('spec.volumeMode', volume.spec?.volumeMode ?? null, 'field is immutable'));
  if (
    old.spec?.nodeAffinity !== undefined &&
    !semanticEqual(volume.spec?.nodeAffinity, old.spec?.nodeAffinity)
  )
    errors.push(invalid('spec.nodeAffinity', volume.spec?.nodeAffinity ?? null, 'field is immutable'));
  return errors;
}
