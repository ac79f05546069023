// Validation of EndpointSlices.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, required, tooMany } from '../../../apimachinery/field-error.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import {
  ipErrors,
  ipWarnings,
  isIPv4,
  isIPv6,
  specialIpErrors,
} from '../../../apimachinery/validation/addresses.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  each,
  fullyQualifiedDomainName,
  labels,
  oneOf,
  optional,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain, type NameRule } from '../../../apimachinery/validation/names.ts';
import type {
  Endpoint,
  EndpointPort,
  EndpointSlice,
  ForNode,
  ForZone,
} from '../../generated/types/discovery-v1.ts';

const maxEndpoints = 1000;
const maxPorts = 20000;
const maxAddresses = 100;
const maxHints = 8;
const maxTopologyLabels = 16;

function addressErrors(field: string, address: string, type: string): Errors {
  if (type === 'FQDN') return fullyQualifiedDomainName(field, address);
  if (type !== 'IPv4' && type !== 'IPv6') return [];
  const errors = each(field, address, ipErrors);
  if (errors.length > 0) return errors;
  const isType = type === 'IPv4' ? isIPv4(address) : isIPv6(address);
  return [
    ...(isType ? [] : [invalid(field, address, `must be an ${type} address`)]),
    ...each(field, address, specialIpErrors),
  ];
}

function hintErrors(hints: readonly Decoded<ForZone | ForNode>[], at: string, rule: NameRule): Errors {
  if (hints.length > maxHints) return [tooMany(at, hints.length, maxHints)];
  const seen = new Set<string>();
  return hints.flatMap(({ name = '' }, i) => {
    const field = `${at}[${i}].name`;
    const again: Errors = seen.has(name) ? [duplicate(field, name)] : [];
    seen.add(name);
    return [...again, ...each(field, name, rule)];
  });
}

function endpointErrors(endpoint: Decoded<Endpoint>, at: string, type: string): Errors {
  const { addresses = [], nodeName, hostname, hints = {}, deprecatedTopology = {} } = endpoint;
  const errors: Errors = [];
  if (addresses.length === 0) errors.push(required(`${at}.addresses`, 'must contain at least 1 address'));
  if (addresses.length > maxAddresses)
    errors.push(tooMany(`${at}.addresses`, addresses.length, maxAddresses));
  addresses.forEach((address, i) => {
    errors.push(...addressErrors(`${at}.addresses[${i}]`, address, type));
  });
  if (nodeName !== undefined) errors.push(...each(`${at}.nodeName`, nodeName, dnsSubdomain));
  const topology = `${at}.deprecatedTopology`;
  const count = Object.keys(deprecatedTopology).length;
  if (count > maxTopologyLabels) errors.push(tooMany(topology, count, maxTopologyLabels));
  errors.push(...labels(topology, deprecatedTopology));
  if (hostname !== undefined) errors.push(...each(`${at}.hostname`, hostname, dnsLabel));
  errors.push(
    ...hintErrors(hints.forZones ?? [], `${at}.hints.forZones`, labelValueErrors),
    ...hintErrors(hints.forNodes ?? [], `${at}.hints.forNodes`, dnsSubdomain),
  );
  return errors;
}

function portErrors(ports: readonly Decoded<EndpointPort>[]): Errors {
  const names = new Set<string>();
  return ports.flatMap(({ name = '', protocol, appProtocol }, i) => {
    const at = `ports[${i}]`;
    const errors = optional(`${at}.name`, name, dnsLabel);
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (protocol === undefined) errors.push(required(`${at}.protocol`));
    else errors.push(...oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']));
    if (appProtocol !== undefined)
      errors.push(...each(`${at}.appProtocol`, appProtocol, qualifiedNameErrors));
    return errors;
  });
}

export function validateEndpointSlice(slice: Decoded<EndpointSlice>): Errors {
  const { addressType: type = '', endpoints = [], ports = [] } = slice;
  const errors: Errors =
    type === '' ? [required('addressType')] : oneOf('addressType', type, ['FQDN', 'IPv4', 'IPv6']);
  if (endpoints.length > maxEndpoints) errors.push(tooMany('endpoints', endpoints.length, maxEndpoints));
  else
    endpoints.forEach((endpoint, i) => {
      errors.push(...endpointErrors(endpoint, `endpoints[${i}]`, type));
    });
  return ports.length > maxPorts
    ? [...errors, tooMany('ports', ports.length, maxPorts)]
    : [...errors, ...portErrors(ports)];
}

export const addressTypeStays = (slice: Decoded<EndpointSlice>, old: Decoded<EndpointSlice>): Errors =>
  unchanged('addressType', slice.addressType, old.addressType);

/** Theirs are well written: nobody looks through all of them. */
const ownControllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

export function endpointSliceWarnings({
  metadata,
  addressType,
  endpoints,
}: Decoded<EndpointSlice>): string[] {
  if (addressType === 'FQDN') return ['spec.addressType: FQDN endpoints are deprecated'];
  if (ownControllers.includes(metadata?.labels?.['endpointslice.kubernetes.io/managed-by'] ?? '')) return [];
  return (endpoints ?? []).flatMap(({ addresses = [] }, i) =>
    addresses.flatMap((address, a) => ipWarnings(`endpoints[${i}].addresses[${a}]`, address)),
  );
}
