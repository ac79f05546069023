// Services: ports, addresses, and what may not change.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labels, oneOf } from '../../../apimachinery/validation/checks.ts';
import {
  cidrErrors,
  dnsLabel,
  dnsSubdomain,
  ipErrors,
  isPort,
  portRange,
  usableIpErrors,
} from '../../../apimachinery/validation/names.ts';
import type { Service, ServicePort, ServiceSpec } from '../../generated/types/core-v1.ts';
import { portOrName } from './validate-probe.ts';

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const protocols = ['SCTP', 'TCP', 'UDP'];

export function validateService(service: Decoded<Service>): Errors {
  const s = service.spec ?? {};
  const type = s.type ?? '';
  const headless = (s.clusterIP ?? '') === 'None' || (s.clusterIPs ?? [])[0] === 'None';
  const errors: Errors = [];
  if (type === '') errors.push(required('spec.type'));
  else errors.push(...oneOf('spec.type', type, types));
  const ports = s.ports ?? [];
  if (ports.length === 0 && !headless && type !== 'ExternalName') errors.push(required('spec.ports'));
  errors.push(...typeErrors(s, type, headless));
  errors.push(...portErrors(ports, type));
  errors.push(...labels('spec.selector', s.selector));
  errors.push(...oneOf('spec.sessionAffinity', s.sessionAffinity ?? 'None', ['ClientIP', 'None']));
  const timeout = s.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (timeout !== undefined && ((timeout ?? 0) <= 0 || (timeout ?? 0) > 86400))
    errors.push(
      invalid(
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
        timeout,
        'must be greater than 0 and less than or equal to 86400',
      ),
    );
  (s.clusterIPs ?? []).forEach((ip, i) => {
    if (ip !== 'None' && ip !== '') errors.push(...each(`spec.clusterIPs[${i}]`, ip, ipErrors));
  });
  (s.externalIPs ?? []).forEach((ip, i) => {
    errors.push(...each(`spec.externalIPs[${i}]`, ip, usableIpErrors));
  });
  (s.loadBalancerSourceRanges ?? []).forEach((cidr, i) => {
    errors.push(...each(`spec.loadBalancerSourceRanges[${i}]`, cidr.trim(), cidrErrors));
  });
  for (const [field, allowed] of [
    ['externalTrafficPolicy', ['Cluster', 'Local']],
    ['internalTrafficPolicy', ['Cluster', 'Local']],
  ] as const)
    if (s[field] !== undefined) errors.push(...oneOf(`spec.${field}`, s[field], allowed));
  return errors;
}

function typeErrors(s: Decoded<ServiceSpec>, type: string, headless: boolean): Errors {
  const ips = s.clusterIPs ?? [];
  if (type === 'ExternalName') {
    const name = s.externalName ?? '';
    const errors: Errors = [];
    if (ips.some((ip) => ip !== ''))
      errors.push(forbidden('spec.clusterIPs', 'may not be set for ExternalName services'));
    if (name === '') errors.push(required('spec.externalName'));
    else errors.push(...each('spec.externalName', name.replace(/\.$/, ''), dnsSubdomain));
    return errors;
  }
  if ((type === 'NodePort' || type === 'LoadBalancer') && headless)
    return [invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)];
  return [];
}

function portErrors(ports: readonly Decoded<ServicePort>[], type: string): Errors {
  const errors: Errors = [];
  const names = new Set<string>();
  const numbers = new Set<string>();
  const nodePorts = new Set<string>();
  ports.forEach((port, i) => {
    const at = `spec.ports[${i}]`;
    const name = port.name ?? '';
    if (name === '' && ports.length > 1) errors.push(required(`${at}.name`));
    else if (name !== '') {
      errors.push(...each(`${at}.name`, name, dnsLabel));
      if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    if (!isPort(port.port)) errors.push(invalid(`${at}.port`, port.port ?? 0, portRange));
    errors.push(...oneOf(`${at}.protocol`, port.protocol, protocols));
    errors.push(...portOrName(`${at}.targetPort`, port.targetPort));
    const key = `${port.protocol ?? ''}/${port.port ?? 0}`;
    if (numbers.has(key)) errors.push(duplicate(at, { port: port.port ?? 0, protocol: port.protocol ?? '' }));
    numbers.add(key);
    const nodePort = port.nodePort ?? 0;
    if (nodePort === 0) return;
    if (type === 'ClusterIP')
      errors.push(forbidden(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
    else if (!isPort(nodePort)) errors.push(invalid(`${at}.nodePort`, nodePort, portRange));
    const nodeKey = `${port.protocol ?? ''}/${nodePort}`;
    if (nodePorts.has(nodeKey)) errors.push(duplicate(`${at}.nodePort`, nodePort));
    nodePorts.add(nodeKey);
  });
  return errors;
}

/** The first cluster IP stays as long as the service has one. */
export function validateServiceUpdate(service: Decoded<Service>, old: Decoded<Service>): Errors {
  const [s, before] = [service.spec ?? {}, old.spec ?? {}];
  const ips = s.clusterIPs ?? [];
  const was = before.clusterIPs ?? [];
  const errors: Errors = [];
  const stays = (s.type ?? '') !== 'ExternalName' && (before.type ?? '') !== 'ExternalName';
  if (stays && was[0] !== undefined && was[0] !== '' && ips[0] !== was[0])
    errors.push(invalid('spec.clusterIPs[0]', ips, 'may not change once set'));
  if (stays && before.clusterIP && was.length === 0 && s.clusterIP !== before.clusterIP)
    errors.push(invalid('spec.clusterIP', s.clusterIP ?? '', 'field is immutable'));
  if (
    before.loadBalancerClass !== undefined &&
    (s.type ?? '') === 'LoadBalancer' &&
    !semanticEqual(s.loadBalancerClass, before.loadBalancerClass)
  )
    errors.push(invalid('spec.loadBalancerClass', s.loadBalancerClass ?? null, 'may not change once set'));
  return errors;
}
