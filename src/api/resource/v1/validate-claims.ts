// Claims on devices, their templates and classes: what they must say, and that they stay as they were made.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required, tooLong } from '../../../apimachinery/field-error.ts';
import { type Errors, each, named, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  DeviceClaim,
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimTemplate,
} from '../../generated/types/resource-v1.ts';
import {
  configurationErrors,
  eachItemErrors,
  fullyQualifiedErrors,
  setErrors,
  tolerationErrors,
} from './checks.ts';

const maxItems = 32;
const maxAlternatives = 8;
const maxExpression = 10 * 1024;

/** Requests by name, with the names of those below them. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export const requestNames = (claim: Decoded<DeviceClaim> | undefined): RequestNames =>
  new Map(
    (claim?.requests ?? []).map(({ name = '', firstAvailable = [] }) => [
      name,
      new Set(firstAvailable.map((one) => one.name ?? '')),
    ]),
  );

const noRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

export function requestRefErrors(field: string, name: string, names: RequestNames): Errors {
  const [first = '', second, ...more] = name.split('/');
  if (more.length > 0) return [invalid(field, name, noRequest)];
  const known = names.get(first);
  const isKnown = known !== undefined && (second === undefined || known.has(second));
  return [
    ...each(field, first, dnsLabel),
    ...(second === undefined ? [] : each(field, second, dnsLabel)),
    ...(isKnown ? [] : [invalid(field, name, noRequest)]),
  ];
}

export const requestRefs = (at: string, list: readonly string[] | undefined, names: RequestNames): Errors =>
  setErrors(
    at,
    list,
    maxItems,
    (name, field) => requestRefErrors(field, name, names),
    (name) => name,
  );

const selectorErrors = ({ cel }: Decoded<DeviceSelector>, at: string): Errors => {
  if (cel === undefined) return [required(`${at}.cel`)];
  return (cel.expression ?? '').length > maxExpression
    ? [tooLong(`${at}.cel.expression`, maxExpression)]
    : [];
};

function countErrors(at: string, mode = '', count: number | bigint = 0): Errors {
  if (mode === 'All')
    return Number(count) === 0
      ? []
      : [invalid(`${at}.count`, count, "must not be specified when allocationMode is 'All'")];
  if (mode === 'ExactCount')
    return count > 0 ? [] : [invalid(`${at}.count`, count, 'must be greater than zero')];
  return [notSupported(`${at}.allocationMode`, mode, ['All', 'ExactCount'])];
}

const exactErrors = (request: Decoded<ExactDeviceRequest>, at: string): Errors => [
  ...named(`${at}.deviceClassName`, request.deviceClassName, dnsSubdomain),
  ...eachItemErrors(`${at}.selectors`, request.selectors, maxItems, selectorErrors),
  ...countErrors(at, request.allocationMode, request.count),
  ...(request.tolerations ?? []).flatMap((one, i) => tolerationErrors(one, `${at}.tolerations[${i}]`)),
];

function requestErrors({ name, exactly, firstAvailable = [] }: Decoded<DeviceRequest>, at: string): Errors {
  const errors = each(`${at}.name`, name, dnsLabel);
  errors.push(
    ...setErrors(
      `${at}.firstAvailable`,
      firstAvailable,
      maxAlternatives,
      (one, here) => [...each(`${here}.name`, one.name, dnsLabel), ...exactErrors(one, here)],
      (one) => one.name ?? '',
      'name',
    ),
  );
  if (exactly !== undefined) errors.push(...exactErrors(exactly, `${at}.exactly`));
  const one = 'exactly one of `exactly` or `firstAvailable` is required';
  if (exactly === undefined && firstAvailable.length === 0) errors.push(required(at, one));
  if (exactly !== undefined && firstAvailable.length > 0)
    errors.push(invalid(at, null, `${one}, but multiple fields are set`));
  return errors;
}

function deviceErrors(claim: Decoded<DeviceClaim>, at: string): Errors {
  const names = requestNames(claim);
  return [
    ...setErrors(`${at}.requests`, claim.requests, maxItems, requestErrors, (one) => one.name ?? '', 'name'),
    ...eachItemErrors(`${at}.constraints`, claim.constraints, maxItems, (constraint, here) => {
      const { matchAttribute: match, distinctAttribute: distinct, requests } = constraint;
      const refs = requestRefs(`${here}.requests`, requests, names);
      if (match !== undefined) return [...refs, ...fullyQualifiedErrors(`${here}.matchAttribute`, match)];
      if (distinct !== undefined)
        return [...refs, ...fullyQualifiedErrors(`${here}.distinctAttribute`, distinct)];
      return [
        ...refs,
        required(
          here,
          'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        ),
      ];
    }),
    ...eachItemErrors(`${at}.config`, claim.config, maxItems, ({ requests, opaque }, here) => [
      ...requestRefs(`${here}.requests`, requests, names),
      ...configurationErrors(here, opaque),
    ]),
  ];
}

export const validateResourceClaim = (claim: Decoded<ResourceClaim>): Errors =>
  deviceErrors(claim.spec?.devices ?? {}, 'spec.devices');

export const claimStays = (claim: Decoded<ResourceClaim>, old: Decoded<ResourceClaim>): Errors =>
  unchanged('spec', claim.spec, old.spec);

const ofTemplates = new Set(['annotations', 'labels']);

export const validateResourceClaimTemplate = ({ spec = {} }: Decoded<ResourceClaimTemplate>): Errors => [
  ...Object.entries(spec.metadata ?? {}).flatMap(([key, value]) =>
    ofTemplates.has(key) || value === undefined || value === null
      ? []
      : [forbidden(`spec.metadata.${key}`, 'cannot be set')],
  ),
  ...deviceErrors(spec.spec?.devices ?? {}, 'spec.spec.devices'),
];

export const templateStays = (
  template: Decoded<ResourceClaimTemplate>,
  old: Decoded<ResourceClaimTemplate>,
): Errors => unchanged('spec', template.spec, old.spec);

/** Not a native one, and no quota's. */
const isExtendedName = (name: string): boolean =>
  name.includes('/') &&
  !name.includes('kubernetes.io/') &&
  !name.startsWith('requests.') &&
  dnsSubdomain(name.split('/')[0]!).length === 0;

export function validateDeviceClass({ spec = {} }: Decoded<DeviceClass>): Errors {
  const { extendedResourceName: name } = spec;
  return [
    ...eachItemErrors('spec.selectors', spec.selectors, maxItems, selectorErrors),
    ...eachItemErrors('spec.config', spec.config, maxItems, ({ opaque }, at) =>
      configurationErrors(at, opaque),
    ),
    ...(name === undefined || isExtendedName(name)
      ? []
      : [invalid('spec.extendedResourceName', name, 'must be a valid extended resource name')]),
  ];
}
