// Where containers mount a pod's volumes, and take them as devices.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notFound, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { oneOf } from '../../../apimachinery/validation/checks.ts';
import type { Container, PodSpec, VolumeMount } from '../../generated/types/core-v1.ts';
import { backsteps, localDescendingPath } from './volume-paths.ts';

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

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

const recursions = ['Disabled', 'Enabled', 'IfPossible'];

/** Whether what is mounted below is read-only too: only of what is read-only itself, and brings nothing from outside. */
function recursionErrors(field: string, mount: Decoded<VolumeMount>): Errors {
  const { recursiveReadOnly: recursion, readOnly, mountPropagation = 'None' } = mount;
  if (recursion === undefined || recursion === 'Disabled') return [];
  if (!recursions.includes(recursion)) return oneOf(field, recursion, recursions);
  const errors: Errors = [];
  if (readOnly !== true) errors.push(forbidden(field, 'may only be specified when readOnly is true'));
  if (mountPropagation !== 'None')
    errors.push(forbidden(field, 'may only be specified when mountPropagation is None or not specified'));
  return errors;
}

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
      if (mount[key]) errors.push(...localDescendingPath(`${at}.${key}`, mount[key]));
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
    errors.push(...recursionErrors(`${at}.recursiveReadOnly`, mount));
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
