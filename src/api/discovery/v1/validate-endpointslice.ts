// Validation of EndpointSlices.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, required, tooMany } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain, isIPv4, isIPv6 } from '../../../apimachinery/validation/names.ts';
import type { EndpointSlice } from '../../generated/types/discovery-v1.ts';

const maxEndpoints = 1000;
const maxPorts = 20000;
const maxAddresses = 100;

function addressErrors(field: string, address: string, type: string): Errors {
  if (type === 'IPv4' && !isIPv4(address)) return [invalid(field, address, 'must be a valid IPv4 address')];
  if (type === 'IPv6' && !isIPv6(address)) return [invalid(field, address, 'must be a valid IPv6 address')];
  return type === 'FQDN' ? each(field, address, dnsSubdomain) : [];
}

export function validateEndpointSlice(slice: Decoded<EndpointSlice>): Errors {
  const type = slice.addressType ?? '';
  const errors: Errors =
    type === '' ? [required('addressType')] : oneOf('addressType', type, ['FQDN', 'IPv4', 'IPv6']);
  const endpoints = slice.endpoints ?? [];
  const ports = slice.ports ?? [];
  if (endpoints.length > maxEndpoints)
    return [...errors, tooMany('endpoints', endpoints.length, maxEndpoints)];
  endpoints.forEach((endpoint, i) => {
    const addresses = endpoint.addresses ?? [];
    const at = `endpoints[${i}]`;
    if (addresses.length === 0) errors.push(required(`${at}.addresses`, 'must contain at least 1 address'));
    if (addresses.length > maxAddresses)
      errors.push(tooMany(`${at}.addresses`, addresses.length, maxAddresses));
    addresses.forEach((address, a) => {
      errors.push(...addressErrors(`${at}.addresses[${a}]`, address, type));
    });
    if (endpoint.hostname !== undefined) errors.push(...each(`${at}.hostname`, endpoint.hostname, dnsLabel));
  });
  if (ports.length > maxPorts) return [...errors, tooMany('ports', ports.length, maxPorts)];
  const names = new Set<string>();
  ports.forEach((port, i) => {
    const name = port.name ?? '';
    if (name !== '') errors.push(...each(`ports[${i}].name`, name, dnsLabel));
    if (names.has(name)) errors.push(duplicate(`ports[${i}].name`, name));
    names.add(name);
    errors.push(...oneOf(`ports[${i}].protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']));
  });
  return errors;
}

export const addressTypeStays = (slice: Decoded<EndpointSlice>, old: Decoded<EndpointSlice>): Errors =>
  unchanged('addressType', slice.addressType, old.addressType);
