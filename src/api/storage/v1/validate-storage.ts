// Classes of storage, drivers and what they attach: what each must say, and what stays as it was made.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, forbidden, invalid, required, tooLong } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import {
  type Errors,
  each,
  labelSelector,
  nonNegative,
  notNegative,
  oneOf,
  repeated,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import { driverNameErrors } from '../../core/v1/csi-driver-name.ts';
import type { TopologySelectorTerm } from '../../generated/types/core-v1.ts';
import type {
  CSIDriver,
  CSINode,
  CSINodeDriver,
  CSIStorageCapacity,
  StorageClass,
  TokenRequest,
  VolumeAttachment,
  VolumeAttributesClass,
  VolumeError,
} from '../../generated/types/storage-v1.ts';

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;
const maxNodeId = 256;
const minTokenSeconds = 600;
const minUpdateSeconds = 10;

const driverErrors = (field: string, name = ''): Errors =>
  name === '' ? [required(field)] : each(field, name.toLowerCase(), qualifiedNameErrors);

function parameterErrors(parameters: Readonly<Record<string, string | undefined>> = {}): Errors {
  const field = 'parameters';
  const entries = Object.entries(parameters);
  if (entries.length > maxParameters) return [tooLong(field, maxParameters)];
  const size = entries.reduce((sum, [key, value = '']) => sum + key.length + value.length, 0);
  return [
    ...(Object.hasOwn(parameters, '') ? [invalid(field, '', 'field can not be empty.')] : []),
    ...(size > maxParameterBytes ? [tooLong(field, maxParameterBytes)] : []),
  ];
}

export function validateStorageClass(storageClass: Decoded<StorageClass>): Errors {
  const { provisioner, parameters, reclaimPolicy = '', volumeBindingMode: mode } = storageClass;
  const errors = [...driverErrors('provisioner', provisioner), ...parameterErrors(parameters)];
  if (reclaimPolicy !== '') errors.push(...oneOf('reclaimPolicy', reclaimPolicy, ['Delete', 'Retain']));
  if (mode === undefined) errors.push(required('volumeBindingMode'));
  else errors.push(...oneOf('volumeBindingMode', mode, ['Immediate', 'WaitForFirstConsumer']));
  return [...errors, ...topologyErrors(storageClass.allowedTopologies ?? [])];
}

function topologyErrors(terms: readonly Decoded<TopologySelectorTerm>[]): Errors {
  const known = new Set<string>();
  return terms.flatMap((term, i) => {
    const at = `allowedTopologies[${i}].matchLabelExpressions`;
    const own: Record<string, readonly string[]> = {};
    const errors: Errors = [];
    (term.matchLabelExpressions ?? []).forEach(({ key = '', values = [] }, e) => {
      const field = `${at}[${e}]`;
      if (values.length === 0) errors.push(required(`${field}.values`));
      for (const v of repeated(values)) errors.push(duplicate(`${field}.values[${v}]`, values[v]!));
      errors.push(...each(`${field}.key`, key, qualifiedNameErrors));
      if (Object.hasOwn(own, key)) errors.push(duplicate(`${field}.key`, key));
      own[key] = [...new Set(values)].sort();
    });
    const text = JSON.stringify(Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (known.has(text)) errors.push(duplicate(at, ''));
    known.add(text);
    return errors;
  });
}

export const validateStorageClassUpdate = (o: Decoded<StorageClass>, old: Decoded<StorageClass>): Errors => [
  ...(['parameters', 'provisioner', 'reclaimPolicy'] as const).flatMap((field) =>
    semanticEqual(o[field], old[field]) ? [] : [forbidden(field, `updates to ${field} are forbidden.`)],
  ),
  ...unchanged('volumeBindingMode', o.volumeBindingMode, old.volumeBindingMode),
];

export function validateVolumeAttributesClass(attributes: Decoded<VolumeAttributesClass>): Errors {
  const { driverName, parameters = {} } = attributes;
  return [
    ...driverErrors('driverName', driverName),
    ...parameterErrors(parameters),
    ...(Object.keys(parameters).length === 0
      ? [required('parameters', 'must contain at least one key/value pair')]
      : []),
  ];
}

export const validateVolumeAttributesClassUpdate = (
  o: Decoded<VolumeAttributesClass>,
  old: Decoded<VolumeAttributesClass>,
): Errors =>
  (['driverName', 'parameters'] as const).flatMap((field) =>
    semanticEqual(o[field], old[field]) ? [] : [forbidden(field, `updates to ${field} are forbidden.`)],
  );

export function validateVolumeAttachment(attachment: Decoded<VolumeAttachment>): Errors {
  const { attacher = '', nodeName = '', source = {} } = attachment.spec ?? {};
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source;
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  const errors: Errors = driverNameErrors('spec.attacher', attacher);
  if (inline === undefined && name === undefined) errors.push(required('spec.source', one));
  if (inline !== undefined && name !== undefined) errors.push(forbidden('spec.source', one));
  if (inline === undefined && name === '')
    errors.push(required('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName'));
  else if (name !== undefined) errors.push(...each('spec.source.persistentVolumeName', name, dnsSubdomain));
  return [...errors, ...each('spec.nodeName', nodeName, dnsSubdomain)];
}

export const validateVolumeAttachmentUpdate = (
  o: Decoded<VolumeAttachment>,
  old: Decoded<VolumeAttachment>,
): Errors => unchanged('spec', o.spec, old.spec);

const byteLength = (text: string): number => new TextEncoder().encode(text).length;
const maxVolumeErrorMessage = 1024;
const maxVolumeErrorCode = 2147483647;
const maxAttachmentMetadata = 256 * 1024;

function volumeErrors(at: string, { message = '', errorCode }: Decoded<VolumeError>): Errors {
  return [
    ...(byteLength(message) > maxVolumeErrorMessage ? [tooLong(`${at}.message`, maxVolumeErrorMessage)] : []),
    ...(errorCode !== undefined && (errorCode < 0 || errorCode > maxVolumeErrorCode)
      ? [invalid(`${at}.errorCode`, errorCode, `must be between 0 and ${maxVolumeErrorCode}, inclusive`)]
      : []),
  ];
}

export function validateVolumeAttachmentStatus({ status = {} }: Decoded<VolumeAttachment>): Errors {
  const { attachmentMetadata = {}, attachError, detachError } = status;
  const at = 'status.attachmentMetadata';
  const errors: Errors = [];
  let size = 0;
  for (const [key, value = ''] of Object.entries(attachmentMetadata)) {
    errors.push(...each(`${at}.${key}`, key.toLowerCase(), qualifiedNameErrors));
    size += byteLength(key) + byteLength(value);
  }
  if (size > maxAttachmentMetadata) errors.push(tooLong(at, maxAttachmentMetadata));
  if (attachError !== undefined) errors.push(...volumeErrors('status.attachError', attachError));
  if (detachError !== undefined) errors.push(...volumeErrors('status.detachError', detachError));
  return errors;
}

export function validateCsiNode(node: Decoded<CSINode>): Errors {
  const names = new Set<string>();
  return (node.spec?.drivers ?? []).flatMap((driver, i) => {
    const at = `spec.drivers[${i}]`;
    const { name = '', nodeID = '', allocatable, topologyKeys = [] } = driver;
    const errors = driverNameErrors(`${at}.name`, name);
    if (nodeID === '') errors.push(required(`${at}.nodeID`));
    if (nodeID.length > maxNodeId)
      errors.push(invalid(`${at}.nodeID`, nodeID, `must be ${maxNodeId} characters or less`));
    errors.push(...nonNegative(`${at}.allocatable.count`, allocatable?.count));
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    const again = repeated(topologyKeys);
    topologyKeys.forEach((key, k) => {
      if (key === '') errors.push(required(at));
      if (again.has(k)) errors.push(duplicate(at, key));
      errors.push(...each(at, key, qualifiedNameErrors));
    });
    return errors;
  });
}

/** How much a node takes may change; who the driver is there may not. */
export function validateCsiNodeUpdate(node: Decoded<CSINode>, old: Decoded<CSINode>): Errors {
  const who = ({ allocatable: _count, ...driver }: Decoded<CSINodeDriver>): object => driver;
  return (old.spec?.drivers ?? []).flatMap((before) =>
    (node.spec?.drivers ?? [])
      .filter(({ name }) => name === before.name)
      .flatMap((driver) => unchanged('spec.drivers', who(driver), who(before))),
  );
}

export function validateCsiDriver(driver: Decoded<CSIDriver>): Errors {
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [], ...s } = driver.spec ?? {};
  const period = s.nodeAllocatableUpdatePeriodSeconds;
  const errors: Errors = driverNameErrors('name', driver.metadata?.name);
  if (fsGroupPolicy !== undefined)
    errors.push(...oneOf('spec.fsGroupPolicy', fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']));
  errors.push(...tokenErrors(tokenRequests));
  for (const mode of volumeLifecycleModes)
    errors.push(...oneOf('spec.volumeLifecycleModes', mode, ['Ephemeral', 'Persistent']));
  if (period !== undefined && period < minUpdateSeconds)
    errors.push(
      invalid(
        'spec.nodeAllocatableUpdatePeriodSeconds',
        period,
        `must be greater than or equal to ${minUpdateSeconds} seconds`,
      ),
    );
  return errors;
}

function tokenErrors(requests: readonly Decoded<TokenRequest>[]): Errors {
  const audiences = new Set<string>();
  return requests.flatMap(({ audience = '', expirationSeconds: seconds }, i) => {
    const at = `spec.tokenRequests[${i}]`;
    if (audiences.has(audience)) return [duplicate(`${at}.audience`, audience)];
    audiences.add(audience);
    if (seconds === undefined) return [];
    const field = `${at}.expirationSeconds`;
    if (seconds < minTokenSeconds)
      return [invalid(field, seconds, 'may not specify a duration less than 10 minutes')];
    return seconds > 2 ** 32
      ? [invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds')]
      : [];
  });
}

/** Upstream names the first field so. */
export const validateCsiDriverUpdate = (o: Decoded<CSIDriver>, old: Decoded<CSIDriver>): Errors => [
  ...unchanged('spec.attachedRequired', o.spec?.attachRequired, old.spec?.attachRequired),
  ...unchanged('spec.volumeLifecycleModes', o.spec?.volumeLifecycleModes, old.spec?.volumeLifecycleModes),
];

export function validateStorageCapacity(capacity: Decoded<CSIStorageCapacity>): Errors {
  const amount = tryParseQuantity(capacity.capacity);
  return [
    ...labelSelector('nodeTopology', capacity.nodeTopology),
    ...each('storageClassName', capacity.storageClassName, dnsSubdomain),
    ...(amount !== undefined && amount.nano < 0n
      ? [invalid('capacity', String(capacity.capacity), notNegative)]
      : []),
  ];
}

export const validateStorageCapacityUpdate = (
  o: Decoded<CSIStorageCapacity>,
  old: Decoded<CSIStorageCapacity>,
): Errors =>
  (['nodeTopology', 'storageClassName'] as const).flatMap((field) => unchanged(field, o[field], old[field]));
