// Volumes of a pod and where containers mount them.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { duplicate, forbidden, invalid, notFound, required } from '../../../apimachinery/field-error.ts';
import { isObject, num, obj, objs, spec, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { validateClaimSpec } from './validate-claims.ts';

export interface VolumeNames {
  readonly names: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
}

/** `more`: claims that the pods get beside the volumes of their spec. */
export const volumeNames = (podSpec: JsonObject, more: readonly string[]): VolumeNames => ({
  names: new Set([...objs(podSpec['volumes']).map((v) => str(v['name'])), ...more]),
  claims: new Set([
    ...objs(podSpec['volumes'])
      .filter((v) => isObject(v['persistentVolumeClaim']) || isObject(v['ephemeral']))
      .map((v) => str(v['name'])),
    ...more,
  ]),
});

export function validateVolumes(podSpec: JsonObject, path: string): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  objs(podSpec['volumes']).forEach((volume, i) => {
    const at = `${path}.volumes[${i}]`;
    const name = str(volume['name']);
    const sources = Object.keys(volume).filter((key) => key !== 'name' && isObject(volume[key]));
    if (sources.length === 0) errors.push(required(at, 'must specify a volume type'));
    for (const extra of sources.slice(1))
      errors.push(forbidden(`${at}.${extra}`, 'may not specify more than 1 volume type'));
    if (name === '') errors.push(required(`${at}.name`));
    else errors.push(...each(`${at}.name`, name, dnsLabel));
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
    for (const source of sources)
      errors.push(...sourceErrors(`${at}.${source}`, source, obj(volume[source])));
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

function itemErrors(field: string, source: JsonObject): Errors {
  const errors: Errors = [];
  const badMode = (value: unknown): boolean => typeof value === 'number' && (value < 0 || value > 0o777);
  if (badMode(source['defaultMode']))
    errors.push(invalid(`${field}.defaultMode`, source['defaultMode'], mode));
  objs(source['items']).forEach((item, i) => {
    const at = `${field}.items[${i}]`;
    if ('key' in item && str(item['key']) === '') errors.push(required(`${at}.key`));
    errors.push(...pathErrors(`${at}.path`, str(item['path'])));
    if (badMode(item['mode'])) errors.push(invalid(`${at}.mode`, item['mode'], mode));
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

function sourceErrors(field: string, kind: string, source: JsonObject): Errors {
  switch (kind) {
    case 'hostPath': {
      const path = str(source['path']);
      if (path === '') return [required(`${field}.path`)];
      return [
        ...(backsteps(path) ? [invalid(`${field}.path`, path, "must not contain '..'")] : []),
        ...oneOf(`${field}.type`, source['type'] ?? '', hostPathTypes),
      ];
    }
    case 'configMap':
      return [
        ...(str(source['name']) === '' ? [required(`${field}.name`)] : []),
        ...itemErrors(field, source),
      ];
    case 'secret':
      return [
        ...(str(source['secretName']) === '' ? [required(`${field}.secretName`)] : []),
        ...itemErrors(field, source),
      ];
    case 'downwardAPI':
      return itemErrors(field, source);
    case 'persistentVolumeClaim':
      return str(source['claimName']) === '' ? [required(`${field}.claimName`)] : [];
    case 'ephemeral': {
      const template = `${field}.volumeClaimTemplate`;
      return isObject(source['volumeClaimTemplate'])
        ? validateClaimSpec(spec(source['volumeClaimTemplate']), `${template}.spec`)
        : [required(template)];
    }
    case 'nfs': {
      const errors: Errors = [];
      if (str(source['server']) === '') errors.push(required(`${field}.server`));
      if (str(source['path']) === '') errors.push(required(`${field}.path`));
      else if (!str(source['path']).startsWith('/'))
        errors.push(invalid(`${field}.path`, source['path'], 'must be an absolute path'));
      return errors;
    }
    case 'csi':
      return str(source['driver']) === '' ? [required(`${field}.driver`)] : [];
    case 'gitRepo':
      return str(source['repository']) === '' ? [required(`${field}.repository`)] : [];
    case 'emptyDir': {
      const limit = str(source['sizeLimit']);
      return limit.startsWith('-')
        ? [forbidden(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
        : [];
    }
    case 'projected':
      return projectedErrors(field, source);
    default:
      return [];
  }
}

function projectedErrors(field: string, projected: JsonObject): Errors {
  return objs(projected['sources']).flatMap((source, i) => {
    const at = `${field}.sources[${i}]`;
    const kinds = Object.keys(source).filter((k) => isObject(source[k]));
    if (kinds.length === 0) return [required(at, 'must specify a volume source type')];
    const errors: Errors = kinds
      .slice(1)
      .map((k) => forbidden(`${at}.${k}`, 'may not specify more than 1 volume type per source'));
    const [kind = ''] = kinds;
    const inner = obj(source[kind]);
    if ((kind === 'secret' || kind === 'configMap') && str(inner['name']) === '')
      errors.push(required(`${at}.${kind}.name`));
    if (kind === 'serviceAccountToken') {
      const seconds = num(inner['expirationSeconds']);
      if (seconds < 600)
        errors.push(
          invalid(
            `${at}.${kind}.expirationSeconds`,
            seconds,
            'may not specify a duration less than 10 minutes',
          ),
        );
      if (seconds > 2 ** 32)
        errors.push(
          invalid(
            `${at}.${kind}.expirationSeconds`,
            seconds,
            'may not specify a duration larger than 2^32 seconds',
          ),
        );
      errors.push(...pathErrors(`${at}.${kind}.path`, str(inner['path'])));
    } else errors.push(...itemErrors(`${at}.${kind}`, inner));
    return errors;
  });
}

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

export function validateMounts(container: JsonObject, path: string, volumes: VolumeNames): Errors {
  const errors: Errors = [];
  const devices = new Set(objs(container['volumeDevices']).map((d) => str(d['name'])));
  const paths = new Set<string>();
  objs(container['volumeMounts']).forEach((mount, i) => {
    const at = `${path}.volumeMounts[${i}]`;
    const name = str(mount['name']);
    if (name === '') errors.push(required(`${at}.name`));
    else if (!volumes.names.has(name)) errors.push(notFound(`${at}.name`, name));
    const mountPath = str(mount['mountPath']);
    if (mountPath === '') errors.push(required(`${at}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (devices.has(name))
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeDevices'));
    for (const key of ['subPath', 'subPathExpr'])
      if (str(mount[key]) !== '') errors.push(...pathErrors(`${at}.${key}`, str(mount[key])));
    if (str(mount['subPath']) !== '' && str(mount['subPathExpr']) !== '')
      errors.push(
        invalid(`${at}.subPathExpr`, mount['subPathExpr'], 'subPathExpr and subPath are mutually exclusive'),
      );
    const propagation = mount['mountPropagation'];
    if (propagation !== undefined) {
      errors.push(...oneOf(`${at}.mountPropagation`, propagation, propagations));
      if (propagation === 'Bidirectional' && obj(container['securityContext'])['privileged'] !== true)
        errors.push(
          forbidden(
            `${at}.mountPropagation`,
            'Bidirectional mount propagation is available only to privileged containers',
          ),
        );
    }
  });
  const devicePaths = new Set<string>();
  objs(container['volumeDevices']).forEach((device, i) => {
    const at = `${path}.volumeDevices[${i}]`;
    const name = str(device['name']);
    const devicePath = str(device['devicePath']);
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
