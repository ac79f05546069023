// Volumes of a pod and where containers mount them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid, notFound, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  Container,
  DownwardAPIVolumeFile,
  KeyToPath,
  PodSpec,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from '../../generated/types/core-v1.ts';
import { driverNameErrors } from './csi-driver-name.ts';
import { validateClaimSpec } from './validate-claims.ts';

export interface VolumeNames {
  readonly names: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
}

/** `more`: claims that the pods get beside the volumes of their spec. */
export const volumeNames = (podSpec: Decoded<PodSpec>, more: readonly string[]): VolumeNames => ({
  names: new Set([...(podSpec.volumes ?? []).map((v) => v.name ?? ''), ...more]),
  claims: new Set([
    ...(podSpec.volumes ?? [])
      .filter((v) => v.persistentVolumeClaim !== undefined || v.ephemeral !== undefined)
      .map((v) => v.name ?? ''),
    ...more,
  ]),
});

export function validateVolumes(podSpec: Decoded<PodSpec>, path: string): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  (podSpec.volumes ?? []).forEach((volume, i) => {
    const at = `${path}.volumes[${i}]`;
    const name = volume.name ?? '';
    const sources = Object.keys(volume).filter((key) => key !== 'name') as (keyof Volume)[];
    if (sources.length === 0) errors.push(required(at, 'must specify a volume type'));
    for (const extra of sources.slice(1))
      errors.push(forbidden(`${at}.${extra}`, 'may not specify more than 1 volume type'));
    if (name === '') errors.push(required(`${at}.name`));
    else errors.push(...each(`${at}.name`, name, dnsLabel));
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
    for (const source of sources)
      errors.push(...(sourceRules[source]?.(`${at}.${source}`, volume[source] as never) ?? []));
  });
  return errors;
}

const backsteps = (path: string): boolean => path.split(/[/\\]/).includes('..');
const mode = 'must be a number between 0 and 0777 (octal), both inclusive';

function pathErrors(field: string, path: string): Errors {
  if (path === '') return [required(field)];
  if (path.startsWith('/')) return [invalid(field, path, 'must be a relative path')];
  if (backsteps(path)) return [invalid(field, path, "must not contain '..'")];
  return path.startsWith('..') ? [invalid(field, path, "must not start with '..'")] : [];
}

/** Files of a volume that are made of something else. */
interface Files {
  readonly defaultMode?: number | undefined;
  readonly items?: Decoded<(KeyToPath | DownwardAPIVolumeFile)[]> | undefined;
}

function itemErrors(field: string, source: Files): Errors {
  const errors: Errors = [];
  const badMode = (value = 0): boolean => value < 0 || value > 0o777;
  if (badMode(source.defaultMode)) errors.push(invalid(`${field}.defaultMode`, source.defaultMode, mode));
  (source.items ?? []).forEach((item, i) => {
    const at = `${field}.items[${i}]`;
    if ('key' in item && !item.key) errors.push(required(`${at}.key`));
    errors.push(...pathErrors(`${at}.path`, item.path ?? ''));
    if (badMode(item.mode)) errors.push(invalid(`${at}.mode`, item.mode, mode));
  });
  return errors;
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** What each source must say; those that are not here have no rules of their own. */
const sourceRules: {
  readonly [Kind in keyof Volume]?: (field: string, source: Decoded<NonNullable<Volume[Kind]>>) => Errors;
} = {
  hostPath(field, { path = '', type = '' }) {
    if (path === '') return [required(`${field}.path`)];
    return [
      ...(backsteps(path) ? [invalid(`${field}.path`, path, "must not contain '..'")] : []),
      ...oneOf(`${field}.type`, type, hostPathTypes),
    ];
  },
  configMap: (field, source) => [...given(`${field}.name`, source.name), ...itemErrors(field, source)],
  secret: (field, source) => [
    ...given(`${field}.secretName`, source.secretName),
    ...itemErrors(field, source),
  ],
  downwardAPI: itemErrors,
  persistentVolumeClaim: (field, { claimName }) => given(`${field}.claimName`, claimName),
  ephemeral(field, { volumeClaimTemplate: template }) {
    const at = `${field}.volumeClaimTemplate`;
    return template === undefined ? [required(at)] : validateClaimSpec(template.spec ?? {}, `${at}.spec`);
  },
  nfs: (field, { server, path = '' }) => [
    ...given(`${field}.server`, server),
    ...given(`${field}.path`, path),
    ...(path === '' || path.startsWith('/')
      ? []
      : [invalid(`${field}.path`, path, 'must be an absolute path')]),
  ],
  csi: (field, { driver, nodePublishSecretRef: secret }) => [
    ...driverNameErrors(`${field}.driver`, driver),
    ...(secret === undefined
      ? []
      : secret.name
        ? each(`${field}.name`, secret.name, dnsSubdomain)
        : [required(`${field}.nodePublishSecretRef.name`)]),
  ],
  gitRepo: (field, { repository }) => given(`${field}.repository`, repository),
  emptyDir: (field, { sizeLimit = '' }) =>
    String(sizeLimit).startsWith('-')
      ? [forbidden(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
      : [],
  projected: projectedErrors,
};

const given = (field: string, value: string | undefined): Errors => (value ? [] : [required(field)]);

function projectedErrors(field: string, projected: Decoded<ProjectedVolumeSource>): Errors {
  return (projected.sources ?? []).flatMap((source, i) => {
    const at = `${field}.sources[${i}]`;
    const kinds = Object.keys(source) as (keyof VolumeProjection)[];
    const [kind] = kinds;
    if (kind === undefined) return [required(at, 'must specify a volume source type')];
    return [
      ...kinds
        .slice(1)
        .map((k) => forbidden(`${at}.${k}`, 'may not specify more than 1 volume type per source')),
      ...(projectionRules[kind] ?? itemErrors)(`${at}.${kind}`, source[kind] as never),
    ];
  });
}

const projectionRules: {
  readonly [Kind in keyof VolumeProjection]?: (
    field: string,
    source: Decoded<NonNullable<VolumeProjection[Kind]>>,
  ) => Errors;
} = {
  secret: (field, source) => [...given(`${field}.name`, source.name), ...itemErrors(field, source)],
  configMap: (field, source) => [...given(`${field}.name`, source.name), ...itemErrors(field, source)],
  serviceAccountToken(field, { expirationSeconds: seconds = 0, path = '' }) {
    const errors: Errors = [];
    const at = `${field}.expirationSeconds`;
    if (seconds < 600) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'));
    if (seconds > 2 ** 32)
      errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'));
    return [...errors, ...pathErrors(`${field}.path`, path)];
  },
};

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

export function validateMounts(container: Decoded<Container>, path: string, volumes: VolumeNames): Errors {
  const errors: Errors = [];
  const devices = new Set((container.volumeDevices ?? []).map((d) => d.name ?? ''));
  const paths = new Set<string>();
  (container.volumeMounts ?? []).forEach((mount, i) => {
    const at = `${path}.volumeMounts[${i}]`;
    const name = mount.name ?? '';
    if (name === '') errors.push(required(`${at}.name`));
    else if (!volumes.names.has(name)) errors.push(notFound(`${at}.name`, name));
    const mountPath = mount.mountPath ?? '';
    if (mountPath === '') errors.push(required(`${at}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (devices.has(name))
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeDevices'));
    for (const key of ['subPath', 'subPathExpr'] as const)
      if (mount[key]) errors.push(...pathErrors(`${at}.${key}`, mount[key]));
    if (mount.subPath && mount.subPathExpr)
      errors.push(
        invalid(`${at}.subPathExpr`, mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive'),
      );
    const propagation = mount.mountPropagation;
    if (propagation !== undefined) {
      errors.push(...oneOf(`${at}.mountPropagation`, propagation, propagations));
      if (propagation === 'Bidirectional' && container.securityContext?.privileged !== true)
        errors.push(
          forbidden(
            `${at}.mountPropagation`,
            'Bidirectional mount propagation is available only to privileged containers',
          ),
        );
    }
  });
  const devicePaths = new Set<string>();
  (container.volumeDevices ?? []).forEach((device, i) => {
    const at = `${path}.volumeDevices[${i}]`;
    const name = device.name ?? '';
    const devicePath = device.devicePath ?? '';
    if (name === '') errors.push(required(`${at}.name`));
    else if (!volumes.names.has(name)) errors.push(notFound(`${at}.name`, name));
    else if (!volumes.claims.has(name))
      errors.push(
        invalid(
          `${at}.name`,
          name,
          'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        ),
      );
    if (devicePath === '') errors.push(required(`${at}.devicePath`));
    else if (devicePaths.has(devicePath))
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must be unique'));
    else if (backsteps(devicePath))
      errors.push(invalid(`${at}.devicePath`, devicePath, "must not contain '..'"));
    devicePaths.add(devicePath);
  });
  return errors;
}
