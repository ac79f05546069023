// What the status of a claim on devices may say: who has it, what was allocated for it, and how that is.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import {
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { interfaceAddressErrors } from '../../../apimachinery/validation/addresses.ts';
import { type Errors, each, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { driverNameErrors } from '../../core/v1/csi-driver-name.ts';
import { validateNodeSelector } from '../../core/v1/validate-scheduling.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from '../../generated/types/resource-v1.ts';
import {
  bindingErrors,
  configurationErrors,
  eachItemErrors,
  poolNameErrors,
  rawErrors,
  setErrors,
} from './checks.ts';
import { type RequestNames, requestNames, requestRefErrors, requestRefs } from './validate-claims.ts';

const maxReserved = 256;
const maxResults = 32;
const maxConfig = 64;
const maxConditions = 8;
const maxData = 10 * 1024;

interface DeviceId {
  readonly driver?: string | undefined;
  readonly pool?: string | undefined;
  readonly device?: string | undefined;
  readonly shareID?: string | undefined;
}
const idOf = ({ driver = '', pool = '', device = '', shareID }: DeviceId): string =>
  `${driver}/${pool}/${device}${shareID === undefined ? '' : `/${shareID}`}`;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const shareErrors = (field: string, id: string | undefined): Errors =>
  id === undefined || uuid.test(id)
    ? []
    : [
        invalid(
          field,
          id,
          'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
        ),
      ];

const consumerErrors = (ref: Decoded<ResourceClaimConsumerReference>, at: string): Errors =>
  (['resource', 'name', 'uid'] as const).flatMap((key) => (ref[key] ? [] : [required(`${at}.${key}`)]));

const deviceErrors = ({ driver, pool, device }: DeviceId, at: string): Errors => [
  ...driverNameErrors(`${at}.driver`, driver),
  ...poolNameErrors(`${at}.pool`, pool),
  ...each(`${at}.device`, device, dnsLabel),
];

const resultErrors = (
  result: Decoded<DeviceRequestAllocationResult>,
  at: string,
  names: RequestNames,
): Errors => [
  ...requestRefErrors(`${at}.request`, result.request ?? '', names),
  ...deviceErrors(result, at),
  ...bindingErrors(at, result),
  ...shareErrors(`${at}.shareID`, result.shareID),
];

function configErrors(
  { source = '', requests, opaque }: Decoded<DeviceAllocationConfiguration>,
  at: string,
  names: RequestNames,
): Errors {
  const sources = ['FromClaim', 'FromClass'];
  const errors: Errors = source === '' ? [required(`${at}.source`)] : [];
  if (source !== '' && !sources.includes(source)) errors.push(notSupported(`${at}.source`, source, sources));
  return [...errors, ...requestRefs(`${at}.requests`, requests, names), ...configurationErrors(at, opaque)];
}

function allocationErrors(allocation: Decoded<AllocationResult>, at: string, names: RequestNames): Errors {
  const { devices = {}, nodeSelector } = allocation;
  return [
    ...eachItemErrors(`${at}.devices.results`, devices.results, maxResults, (one, here) =>
      resultErrors(one, here, names),
    ),
    ...eachItemErrors(`${at}.devices.config`, devices.config, maxConfig, (one, here) =>
      configErrors(one, here, names),
    ),
    ...validateNodeSelector(nodeSelector, `${at}.nodeSelector`),
  ];
}

const maxInterface = 256;
const maxHardware = 128;
const maxIps = 16;

const networkErrors = (data: Decoded<NetworkDeviceData>, at: string): Errors => [
  ...((data.interfaceName ?? '').length > maxInterface ? [tooLong(`${at}.interfaceName`, maxInterface)] : []),
  ...((data.hardwareAddress ?? '').length > maxHardware
    ? [tooLong(`${at}.hardwareAddress`, maxHardware)]
    : []),
  ...setErrors(
    `${at}.ips`,
    data.ips,
    maxIps,
    (ip, field) => each(field, ip, interfaceAddressErrors),
    (ip) => ip,
  ),
];

function statusErrors(
  device: Decoded<AllocatedDeviceStatus>,
  at: string,
  allocated: ReadonlySet<string>,
): Errors {
  const { conditions = [], data, networkData } = device;
  return [
    ...deviceErrors(device, at),
    ...shareErrors(`${at}.shareID`, device.shareID),
    ...(allocated.has(idOf(device))
      ? []
      : [invalid(at, idOf(device), 'must be an allocated device in the claim')]),
    ...(conditions.length > maxConditions
      ? [tooMany(`${at}.conditions`, conditions.length, maxConditions)]
      : []),
    ...(data === undefined ? [] : rawErrors(`${at}.data`, data, maxData)),
    ...(networkData === undefined ? [] : networkErrors(networkData, `${at}.networkData`)),
  ];
}

export function validateResourceClaimStatus(
  claim: Decoded<ResourceClaim>,
  old: Decoded<ResourceClaim>,
): Errors {
  const { reservedFor = [], devices, allocation } = claim.status ?? {};
  const before = old.status ?? {};
  const results = allocation?.devices?.results ?? [];
  const allocated = new Set(results.map(idOf));
  const errors = [
    ...setErrors(
      'status.reservedFor',
      reservedFor,
      maxReserved,
      consumerErrors,
      ({ uid = '' }) => uid,
      'uid',
    ),
    ...setErrors(
      'status.devices',
      devices,
      Number.POSITIVE_INFINITY,
      (device, at) => statusErrors(device, at, allocated),
      idOf,
      'deviceID',
    ),
  ];
  if (reservedFor.length > 0 && allocation === undefined)
    errors.push(forbidden('status.reservedFor', 'may not be specified when `allocated` is not set'));
  else if (claim.metadata?.deletionTimestamp !== undefined) {
    const known = new Set((before.reservedFor ?? []).map(({ uid = '' }) => uid));
    if (reservedFor.some(({ uid = '' }) => !known.has(uid)))
      errors.push(
        forbidden(
          'status.reservedFor',
          'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
        ),
      );
  }
  if (allocation === undefined) return errors;
  if (before.allocation !== undefined)
    return [...errors, ...unchanged('status.allocation', allocation, before.allocation)];
  return [...errors, ...allocationErrors(allocation, 'status.allocation', requestNames(claim.spec?.devices))];
}
