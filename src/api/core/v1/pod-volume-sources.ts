// What volumes of pods are made of: those that only pods have, and all of them in upstream's order.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labels, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type { PersistentVolumeClaimTemplate, Volume } from '../../generated/types/core-v1.ts';
import { driverNameErrors } from './csi-driver-name.ts';
import { downwardFileErrors } from './downward-selectors.ts';
import { itemErrors, projectedErrors } from './projected-sources.ts';
import { validateClaimSpec } from './validate-claims.ts';
import { localDescendingPath, modeErrors } from './volume-paths.ts';
import {
  given,
  iscsiErrors,
  type SourceRules,
  secretErrors,
  sharedSources,
  storageosErrors,
} from './volume-sources.ts';

const pullPolicies = ['Always', 'IfNotPresent', 'Never'];

const imageErrors = (field: string, { pullPolicy }: Decoded<NonNullable<Volume['image']>>): Errors =>
  pullPolicy === undefined ? [] : oneOf(`${field}.pullPolicy`, pullPolicy, pullPolicies);

/** In upstream's order. The template of pods may leave open which image it is. */
export const sourcesOfTemplates: SourceRules<Volume> = {
  emptyDir: (field, { sizeLimit = '' }) =>
    String(sizeLimit).startsWith('-')
      ? [forbidden(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
      : [],
  hostPath: sharedSources.hostPath,
  gitRepo: (field, { repository, directory = '' }) => [
    ...given(`${field}.repository`, repository),
    ...localDescendingPath(`${field}.directory`, directory),
  ],
  gcePersistentDisk: sharedSources.gcePersistentDisk,
  awsElasticBlockStore: sharedSources.awsElasticBlockStore,
  secret: (field, source) => [
    ...given(`${field}.secretName`, source.secretName),
    ...modeErrors(`${field}.defaultMode`, source.defaultMode),
    ...itemErrors(field, source.items),
  ],
  nfs: sharedSources.nfs,
  iscsi: (field, source) => iscsiErrors(field, source, 'must be valid format starting with iqn, eui, or naa'),
  glusterfs: sharedSources.glusterfs,
  flocker: sharedSources.flocker,
  persistentVolumeClaim: (field, { claimName }) => given(`${field}.claimName`, claimName),
  rbd: sharedSources.rbd,
  cinder: (field, source) => [
    ...sharedSources.cinder(field, source),
    ...secretErrors(field, source.secretRef, 'of the pod'),
  ],
  cephfs: sharedSources.cephfs,
  quobyte: sharedSources.quobyte,
  // Upstream leaves the items' places out.
  downwardAPI: (field, { defaultMode, items = [] }) => [
    ...modeErrors(`${field}.defaultMode`, defaultMode),
    ...items.flatMap((item) => downwardFileErrors(field, item)),
  ],
  fc: sharedSources.fc,
  flexVolume: sharedSources.flexVolume,
  configMap: (field, source) => [
    ...given(`${field}.name`, source.name),
    ...modeErrors(`${field}.defaultMode`, source.defaultMode),
    ...itemErrors(field, source.items),
  ],
  azureFile: sharedSources.azureFile,
  vsphereVolume: sharedSources.vsphereVolume,
  photonPersistentDisk: sharedSources.photonPersistentDisk,
  portworxVolume: sharedSources.portworxVolume,
  azureDisk: sharedSources.azureDisk,
  storageos: (field, source) => [
    ...storageosErrors(field, source),
    ...secretErrors(field, source.secretRef, 'of the pod'),
  ],
  projected: projectedErrors,
  scaleIO: sharedSources.scaleIO,
  csi: (field, { driver, nodePublishSecretRef: secret }) => [
    ...driverNameErrors(`${field}.driver`, driver),
    ...(secret === undefined
      ? []
      : secret.name
        ? each(`${field}.name`, secret.name, dnsSubdomain)
        : [required(`${field}.nodePublishSecretRef.name`)]),
  ],
  ephemeral(field, { volumeClaimTemplate: template }) {
    const at = `${field}.volumeClaimTemplate`;
    return template === undefined
      ? [required(at)]
      : [
          ...templateMetadataErrors(`${at}.metadata`, template.metadata),
          ...validateClaimSpec(template.spec ?? {}, `${at}.spec`),
        ];
  },
  image: imageErrors,
};
export const sourcesOfPods: SourceRules<Volume> = {
  ...sourcesOfTemplates,
  image: (field, source) => [...given(`${field}.reference`, source.reference), ...imageErrors(field, source)],
};

/** Only labels and annotations of a claim's template are used: more of it is refused. */
function templateMetadataErrors(
  field: string,
  metadata: Decoded<PersistentVolumeClaimTemplate>['metadata'] = {},
): Errors {
  return [
    ...labels(`${field}.labels`, metadata.labels),
    ...Object.entries(metadata)
      .filter(([key, value]) => key !== 'annotations' && key !== 'labels' && value !== undefined)
      .map(([key]) => forbidden(`${field}.${key}`, 'cannot be set')),
  ];
}
