// PersistentVolumes: what they must say and what may change.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, named, oneOf, optional, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../generated/types/core-v1.ts';
import { driverNameErrors } from './csi-driver-name.ts';
import { accessModeErrors, positiveQuantity } from './validate-claims.ts';
import { validateQuantity } from './validate-resources.ts';
import { validateNodeSelector } from './validate-scheduling.ts';
import { noBacksteps } from './volume-paths.ts';
import {
  given,
  iscsiErrors,
  iscsiNameLong,
  isIscsiNameLong,
  oneSource,
  type SourceRules,
  secretErrors,
  sharedSources,
  storageosErrors,
} from './volume-sources.ts';

/** In upstream's order. */
const sourceRules: SourceRules<PersistentVolumeSpec> = {
  hostPath: sharedSources.hostPath,
  gcePersistentDisk: sharedSources.gcePersistentDisk,
  awsElasticBlockStore: sharedSources.awsElasticBlockStore,
  glusterfs: (field, source) => [
    ...sharedSources.glusterfs(field, source),
    ...namespaceErrors(`${field}.endpointsNamespace`, source.endpointsNamespace),
  ],
  flocker: sharedSources.flocker,
  nfs: sharedSources.nfs,
  rbd: sharedSources.rbd,
  quobyte: sharedSources.quobyte,
  cephfs: sharedSources.cephfs,
  iscsi: (field, source) => [
    ...iscsiErrors(field, source, 'must be valid format'),
    ...(source.secretRef === undefined ? [] : given(`${field}.secretRef.name`, source.secretRef.name)),
  ],
  cinder: (field, source) => [
    ...sharedSources.cinder(field, source),
    ...secretErrors(field, source.secretRef, 'of any namespace'),
  ],
  fc: sharedSources.fc,
  flexVolume: sharedSources.flexVolume,
  azureFile: (field, source) => [
    ...sharedSources.azureFile(field, source),
    ...(source.secretNamespace === '' ? [required(`${field}.secretNamespace`)] : []),
  ],
  vsphereVolume: sharedSources.vsphereVolume,
  photonPersistentDisk: sharedSources.photonPersistentDisk,
  portworxVolume: sharedSources.portworxVolume,
  azureDisk: sharedSources.azureDisk,
  scaleIO: sharedSources.scaleIO,
  local: (field, { path = '' }) =>
    path === '' ? [required(`${field}.path`)] : noBacksteps(`${field}.path`, path),
  storageos: (field, source) => [
    ...storageosErrors(field, source),
    ...secretErrors(field, source.secretRef, 'of any namespace'),
  ],
  csi: (field, source) => csiErrors(source, field),
};
const sources: ReadonlySet<string> = new Set(Object.keys(sourceRules));

function namespaceErrors(field: string, namespace: string | undefined): Errors {
  if (namespace === undefined) return [];
  return namespace === ''
    ? [invalid(field, namespace, 'if the endpointnamespace is set, it must be a valid namespace name')]
    : each(field, namespace, dnsLabel);
}

function capacityErrors(capacity: Decoded<PersistentVolumeSpec>['capacity'] = {}): Errors {
  const errors: Errors = [];
  if (Object.keys(capacity).length === 0) errors.push(required('spec.capacity'));
  else if (capacity.storage === undefined || Object.keys(capacity).length > 1)
    errors.push(notSupported('spec.capacity', capacity, ['storage']));
  for (const [name, value] of Object.entries(capacity))
    if (value !== undefined)
      errors.push(
        ...validateQuantity(`spec.capacity[${name}]`, value, 'memory'),
        ...positiveQuantity(`spec.capacity[${name}]`, value),
      );
  return errors;
}

const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];

export function validateVolume(volume: Decoded<PersistentVolume>): Errors {
  const s: Decoded<PersistentVolumeSpec> = volume.spec ?? {};
  const errors: Errors = [];
  if ((s.accessModes ?? []).length === 0) errors.push(required('spec.accessModes'));
  else errors.push(...accessModeErrors('spec.accessModes', s.accessModes));
  errors.push(...capacityErrors(s.capacity));
  const reclaim = s.persistentVolumeReclaimPolicy ?? 'Retain';
  errors.push(...oneOf('spec.persistentVolumeReclaimPolicy', reclaim, reclaimPolicies));
  if (s.nodeAffinity !== undefined && s.nodeAffinity.required === undefined)
    errors.push(required('spec.nodeAffinity.required', 'must specify required node constraints'));
  errors.push(...validateNodeSelector(s.nodeAffinity?.required, 'spec.nodeAffinity.required'));
  errors.push(...oneSource<PersistentVolumeSpec>('spec', s, sourceRules));
  if (s.iscsi !== undefined && isIscsiNameLong(s.iscsi, volume.metadata?.name ?? ''))
    errors.push(invalid('spec.iscsi.targetportal', s.iscsi.targetPortal ?? '', iscsiNameLong));
  if (s.local !== undefined && s.nodeAffinity === undefined && firstSource(s) === 'local')
    errors.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
  if (reclaim === 'Recycle' && s.hostPath?.path && isRoot(s.hostPath.path))
    errors.push(
      forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"),
    );
  errors.push(...optional('spec.storageClassName', s.storageClassName, dnsSubdomain));
  if (s.volumeMode !== undefined)
    errors.push(...oneOf('spec.volumeMode', s.volumeMode, ['Block', 'Filesystem']));
  return [...errors, ...attributesClassErrors(s)];
}

const firstSource = (s: Decoded<PersistentVolumeSpec>): string | undefined =>
  Object.keys(sourceRules).find((kind) => s[kind as keyof typeof s] !== undefined);
/** By whatever way it is written: `/a/..`. */
function isRoot(path: string): boolean {
  let depth = 0;
  for (const part of path.split('/'))
    if (part === '..') depth = Math.max(0, depth - 1);
    else if (part !== '' && part !== '.') depth++;
  return path.startsWith('/') && depth === 0;
}

function attributesClassErrors({
  volumeAttributesClassName: name,
  csi,
}: Decoded<PersistentVolumeSpec>): Errors {
  if (name === undefined) return [];
  const field = 'spec.volumeAttributesClassName';
  return [
    ...(name === '' ? [required(field, 'an empty string is disallowed')] : each(field, name, dnsSubdomain)),
    ...(csi === undefined
      ? [required('spec.csi', 'has to be specified when using volumeAttributesClassName')]
      : []),
  ];
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

/** What a volume is may not change, but that a secret for its growth is named where none was. */
function sourceOf({ spec = {} }: Decoded<PersistentVolume>, old: Decoded<PersistentVolume>): object {
  const source = Object.fromEntries(Object.entries(spec).filter(([kind]) => sources.has(kind)));
  if (spec.csi === undefined || old.spec?.csi?.controllerExpandSecretRef !== undefined) return source;
  const { controllerExpandSecretRef: _, ...csi } = spec.csi;
  return { ...source, csi };
}

/** Upstream leaves `spec.` out in some of them. */
export function validateVolumeUpdate(
  volume: Decoded<PersistentVolume>,
  old: Decoded<PersistentVolume>,
): Errors {
  const { spec = {} } = volume;
  const { spec: before = {} } = old;
  const errors: Errors = [];
  if (!semanticEqual(sourceOf(volume, old), sourceOf(old, old)))
    errors.push(
      forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'),
    );
  errors.push(...unchanged('volumeMode', spec.volumeMode, before.volumeMode));
  if (before.nodeAffinity !== undefined && !isSameAffinity(spec.nodeAffinity, before.nodeAffinity))
    errors.push(
      invalid(
        'nodeAffinity',
        spec.nodeAffinity,
        'field is immutable, except for updating from beta label to GA',
      ),
    );
  if (before.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
    errors.push(forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'));
  return errors;
}

/** Labels of nodes that got other names: only where an affinity names them may it change. */
const renamedLabels: ReadonlyMap<unknown, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

type Affinity = Decoded<PersistentVolumeSpec>['nodeAffinity'];
const withNewLabels = (affinity: Affinity): Affinity => ({
  ...affinity,
  required: {
    ...affinity?.required,
    nodeSelectorTerms: (affinity?.required?.nodeSelectorTerms ?? []).map((term) => ({
      ...term,
      matchExpressions: term.matchExpressions?.map((one) => ({
        ...one,
        key: renamedLabels.get(one.key) ?? one.key,
      })),
    })),
  },
});

/** Or the same but for labels that go by their newer names. */
const isSameAffinity = (after: Affinity, before: Affinity): boolean =>
  semanticEqual(after, before) ||
  (after !== undefined && semanticEqual(withNewLabels(after), withNewLabels(before)));
