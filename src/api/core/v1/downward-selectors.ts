// What a pod tells its containers of itself (the downward API): by variables, and by files of volumes.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { formatQuantity, isZeroQuantity, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf } from '../../../apimachinery/validation/checks.ts';
import type {
  DownwardAPIVolumeFile,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';
import { modeErrors, nonReserved } from './volume-paths.ts';

export const envFieldPaths: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const volumeFieldPaths: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

const shownResourceNames = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const resourceNames = /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-.+)$/;

const units = ['1', ...['k', 'M', 'G', 'T', 'P', 'E'].map((unit) => `1${unit}`)].concat(
  ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit) => `1${unit}`),
);
const sizesOf: ReadonlyMap<string, string> = new Map([
  ['memory', 'memory'],
  ['ephemeral-storage', 'local ephemeral storage'],
]);

/** What an amount is shown in: whole units that one can divide by. */
function divisorErrors(field: string, resource: string, divisor: Quantity | undefined): Errors {
  const quantity = tryParseQuantity(divisor);
  if (quantity === undefined || isZeroQuantity(quantity)) return [];
  const text = formatQuantity(quantity);
  const name = resource.slice(resource.indexOf('.') + 1);
  const refused = (allowed: string, what: string): Errors => [
    invalid(field, resource, `only divisor's values ${allowed} are supported with the ${what} resource`),
  ];
  if (name === 'cpu') return text === '1m' || text === '1' ? [] : refused('1m and 1', 'cpu');
  const what = name.startsWith('hugepages-') ? 'hugepages' : sizesOf.get(name);
  return what === undefined || units.includes(text) ? [] : refused(units.join(', '), what);
}

/** `metadata.labels['key']`, by its last bracket, as upstream. */
function subscriptOf(path: string): { readonly subscripted?: string; readonly key: string } {
  const open = path.endsWith("']") ? path.lastIndexOf("['") : -1;
  return open < 0 || open + 4 > path.length
    ? { key: '' }
    : { subscripted: path.slice(0, open), key: path.slice(open + 2, -2) };
}

/** `allowed`: sorted, as they are told. */
export function fieldRefErrors(
  at: string,
  { fieldPath: path = '' }: Decoded<ObjectFieldSelector>,
  allowed: readonly string[],
): Errors {
  if (path === '') return [required(`${at}.fieldPath`)];
  const { subscripted, key } = subscriptOf(path);
  if (subscripted === 'metadata.annotations') return each(at, key.toLowerCase(), qualifiedNameErrors);
  if (subscripted === 'metadata.labels') return each(at, key, qualifiedNameErrors);
  return oneOf(`${at}.fieldPath`, path, allowed);
}

export function resourceFieldErrors(
  at: string,
  { resource = '', divisor }: Decoded<ResourceFieldSelector>,
): Errors {
  if (resource === '') return [required(`${at}.resource`)];
  return [
    ...(resourceNames.test(resource) ? [] : oneOf(`${at}.resource`, resource, shownResourceNames)),
    ...divisorErrors(`${at}.divisor`, resource, divisor),
  ];
}

/** A file of a volume, which tells of any of the pod's containers: of which must be said. */
export function downwardFileErrors(field: string, file: Decoded<DownwardAPIVolumeFile>): Errors {
  const { path = '', fieldRef, resourceFieldRef: resource } = file;
  const errors = path === '' ? [required(`${field}.path`)] : nonReserved(`${field}.path`, path);
  if (fieldRef !== undefined) errors.push(...fieldRefErrors(`${field}.fieldRef`, fieldRef, volumeFieldPaths));
  if (fieldRef !== undefined && resource !== undefined)
    errors.push(
      invalid(field, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'),
    );
  if (fieldRef === undefined && resource === undefined)
    errors.push(required(field, 'one of fieldRef and resourceFieldRef is required'));
  if (fieldRef === undefined && resource !== undefined)
    errors.push(
      ...(resource.containerName
        ? resourceFieldErrors(`${field}.resourceFieldRef`, resource)
        : [required(`${field}.resourceFieldRef.containerName`)]),
    );
  return [...errors, ...modeErrors(`${field}.mode`, file.mode)];
}
