// What a client is warned of that names volumes: kinds that nobody mounts any more, sizes in parts of a byte, files in one place.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';
import { selectorTermWarnings } from './node-label-warnings.ts';

/** Kinds of volumes that no kubelet of today knows any more: such a pod is taken, and can never run. */
const endedVolumes: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};
/** As upstream writes them in the path, where that is not the name of the field. */
const shownVolumes: Readonly<Record<string, string>> = { storageos: 'storageOS' };
/** In upstream's order, which tells of no other kinds of a PersistentVolume. */
const endedPersistent = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];

const betaClass = 'volume.beta.kubernetes.io/storage-class';
const classWord = 'deprecated since v1.8; use "storageClassName" attribute instead';
const mountOptions = 'volume.beta.kubernetes.io/mount-options';

/** `field[memory]: …` where an amount is no whole number of bytes. */
export function fractionWarnings(
  field: string,
  amounts: Readonly<Record<string, Quantity | undefined>> | undefined,
  names: readonly string[],
): string[] {
  return names.flatMap((name) => {
    const quantity = tryParseQuantity(amounts?.[name]);
    if (!quantity || quantity.nano % 1_000_000_000n === 0n) return [];
    const shown = JSON.stringify(amounts?.[name]);
    return [`${field}[${name}]: fractional byte value ${shown} is invalid, must be an integer`];
  });
}

export function claimSpecWarnings(
  { resources = {} }: Decoded<PersistentVolumeClaimSpec>,
  at: string,
): string[] {
  return (['requests', 'limits'] as const).flatMap((list) =>
    fractionWarnings(`${at}.resources.${list}`, resources[list], ['storage']),
  );
}

export function claimWarnings(claim: Decoded<PersistentVolumeClaim>): string[] {
  return [
    ...(claim.metadata?.annotations?.[betaClass] === undefined
      ? []
      : [`metadata.annotations[${betaClass}]: ${classWord}`]),
    ...claimSpecWarnings(claim.spec ?? {}, 'spec'),
  ];
}

export function volumeWarnings({ metadata, spec = {} }: Decoded<PersistentVolume>): string[] {
  const annotations = metadata?.annotations ?? {};
  return [
    ...(annotations[betaClass] === undefined ? [] : [`metadata.annotations[${betaClass}]: ${classWord}`]),
    ...(annotations[mountOptions] === undefined
      ? []
      : [
          `metadata.annotations[${mountOptions}]: deprecated since v1.31; use "mountOptions" attribute instead`,
        ]),
    ...(spec.persistentVolumeReclaimPolicy === 'Recycle'
      ? [
          'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        ]
      : []),
    ...(spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap((term, i) =>
      selectorTermWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, false),
    ),
    ...endedPersistent.flatMap((kind) =>
      Object.hasOwn(spec, kind) ? [`spec.${shownVolumes[kind] ?? kind}: ${endedVolumes[kind]}`] : [],
    ),
  ];
}

/** Of the volumes of a pod. */
export function podVolumeWarnings(volumes: readonly Decoded<Volume>[], at: string): string[] {
  const kinds = volumes.flatMap((volume, i) => {
    const ended = Object.entries(endedVolumes).flatMap(([kind, word]) =>
      Object.hasOwn(volume, kind) ? [`${at}[${i}].${shownVolumes[kind] ?? kind}: ${word}`] : [],
    );
    const template = volume.ephemeral?.volumeClaimTemplate;
    if (template === undefined) return ended;
    return [
      ...ended,
      ...claimSpecWarnings(template.spec ?? {}, `${at}[${i}].ephemeral.volumeClaimTemplate.spec`),
    ];
  });
  return [...kinds, ...volumes.flatMap(pathWarnings)];
}

interface Place {
  readonly path: string;
  /** Which source puts a file there; '': there is one only. */
  readonly source: string;
}

/** A path is compared with so many others, and a volume has so many warnings at most. */
const mostCompared = 100;
const mostTold = 20;

const placeText = ({ path, source }: Place): string =>
  source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;

/** Paths that are the same, or where one must be a folder for the other. */
function overlaps(places: readonly Place[]): string[] {
  const out: string[] = [];
  const known: Place[] = [];
  for (const { path: written, source } of places) {
    const own = { path: written.replace(/\/{1,64}$/, ''), source };
    if (own.path === '') continue;
    for (const other of known)
      if (`${other.path}/`.startsWith(`${own.path}/`) || `${own.path}/`.startsWith(`${other.path}/`))
        out.push(`${placeText(own)} with ${placeText(other)}`);
    if (out.length >= mostTold) return out.slice(0, mostTold);
    if (known.length < mostCompared) known.push(own);
  }
  return out;
}

const placesOf = (
  items: readonly { readonly path?: string | undefined }[] | undefined,
  source: string,
): Place[] => (items ?? []).map(({ path = '' }) => ({ path, source }));

function projectedPlaces(source: Decoded<VolumeProjection>): Place[] {
  const { configMap, secret, downwardAPI, serviceAccountToken: token, clusterTrustBundle: bundle } = source;
  if (configMap?.items !== undefined)
    return placesOf(configMap.items, `ConfigMap ${JSON.stringify(configMap.name ?? '')}`);
  if (secret?.items !== undefined)
    return placesOf(secret.items, `Secret ${JSON.stringify(secret.name ?? '')}`);
  if (downwardAPI?.items !== undefined) return placesOf(downwardAPI.items, 'DownwardAPI');
  if (token !== undefined) return placesOf([token], 'ServiceAccountToken');
  if (bundle !== undefined)
    return placesOf([bundle], `ClusterTrustBundle ${JSON.stringify(bundle.name ?? bundle.signerName ?? '')}`);
  const { certificateChainPath, keyPath, credentialBundlePath } = source.podCertificate ?? {};
  return [
    ...placesOf([{ path: certificateChainPath }], 'PodCertificate chain'),
    ...placesOf([{ path: keyPath }], 'PodCertificate key'),
    ...placesOf([{ path: credentialBundlePath }], 'PodCertificate credential bundle'),
  ].filter(({ path }) => path !== '');
}

function projectedWarnings({ sources = [] }: Decoded<ProjectedVolumeSource>, volume: string): string[] {
  const empty = sources.filter((source) => Object.keys(source).length === 0);
  return [
    ...empty.slice(0, 1).map(() => `volume ${volume} (Projected) has no sources provided`),
    ...overlaps(sources.flatMap(projectedPlaces)).map(
      (text) => `volume ${volume} (Projected): overlapping paths: ${text}`,
    ),
  ];
}

function pathWarnings({ name = '', configMap, secret, downwardAPI, projected }: Decoded<Volume>): string[] {
  const volume = JSON.stringify(name);
  const told = (kind: string, items: Parameters<typeof placesOf>[0]): string[] =>
    overlaps(placesOf(items, '')).map((text) => `volume ${volume} (${kind}): overlapping paths: ${text}`);
  return [
    ...told(`ConfigMap ${JSON.stringify(configMap?.name ?? '')}`, configMap?.items),
    ...told(`Secret ${JSON.stringify(secret?.secretName ?? '')}`, secret?.items),
    ...told('DownwardAPI', downwardAPI?.items),
    ...(projected === undefined ? [] : projectedWarnings(projected, volume)),
  ];
}
