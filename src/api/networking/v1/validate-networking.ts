// Ingresses and network policies.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labelSelector, named, oneOf } from '../../../apimachinery/validation/checks.ts';
import {
  cidrErrors,
  dns1035Label,
  dnsSubdomain,
  isIPv4,
  isIPv6,
  isPort,
  portName,
  portRange,
} from '../../../apimachinery/validation/names.ts';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  NetworkPolicy,
  NetworkPolicyEgressRule,
  NetworkPolicyIngressRule,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '../../generated/types/networking-v1.ts';

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];

export function validateIngress(ingress: Decoded<Ingress>): Errors {
  const s = ingress.spec ?? {};
  const errors: Errors = [];
  if (s.defaultBackend === undefined && (s.rules ?? []).length === 0)
    errors.push(invalid('spec', s, 'either `defaultBackend` or `rules` must be specified'));
  if (s.defaultBackend !== undefined) errors.push(...backendErrors(s.defaultBackend, 'spec.defaultBackend'));
  (s.rules ?? []).forEach((rule, i) => {
    const at = `spec.rules[${i}]`;
    const host = rule.host ?? '';
    if (isIPv4(host) || isIPv6(host))
      errors.push(invalid(`${at}.host`, host, 'must be a DNS name, not an IP address'));
    else if (host !== '')
      errors.push(
        ...each(`${at}.host`, host, (h) => (h.startsWith('*.') ? wildcardErrors(h) : dnsSubdomain(h))),
      );
    const http = rule.http;
    if (http === undefined) return;
    if ((http.paths ?? []).length === 0) errors.push(required(`${at}.http.paths`));
    (http.paths ?? []).forEach((path, p) => {
      errors.push(...pathErrors(path, `${at}.http.paths[${p}]`));
    });
  });
  if (s.ingressClassName !== undefined)
    errors.push(...each('spec.ingressClassName', s.ingressClassName, dnsSubdomain));
  return errors;
}
const wildcardErrors = (host: string): string[] => dnsSubdomain(host.slice(2));

function pathErrors(path: Decoded<HTTPIngressPath>, at: string): Errors {
  const errors: Errors = [];
  const type = path.pathType ?? '';
  const text = path.path ?? '';
  if (type === '') errors.push(required(`${at}.pathType`, 'pathType must be specified'));
  else if (!pathTypes.includes(type)) errors.push(notSupported(`${at}.pathType`, type, pathTypes));
  else if (type !== 'ImplementationSpecific' || text !== '') {
    if (!text.startsWith('/')) errors.push(invalid(`${at}.path`, text, 'must be an absolute path'));
    if (type !== 'ImplementationSpecific')
      for (const bad of ['//', '/./', '/../', '%2f', '%2F'])
        if (text.includes(bad)) errors.push(invalid(`${at}.path`, text, `must not contain '${bad}'`));
  }
  return [...errors, ...backendErrors(path.backend ?? {}, `${at}.backend`)];
}

function backendErrors(backend: Decoded<IngressBackend>, at: string): Errors {
  const service = backend.service;
  const resource = backend.resource;
  if (service !== undefined && resource !== undefined)
    return [invalid(at, '', 'cannot set both resource and service backends')];
  if (resource !== undefined)
    return [
      ...named(`${at}.resource.kind`, resource.kind, () => []),
      ...named(`${at}.resource.name`, resource.name, () => []),
    ];
  if (service === undefined) return [required(at, 'must specify one of `service` or `resource`')];
  const errors = named(`${at}.service.name`, service.name, dns1035Label);
  const port = service.port ?? {};
  const [name, number] = [port.name ?? '', port.number ?? 0];
  if (name !== '' && number !== 0) errors.push(invalid(at, '', 'cannot set both port name & port number'));
  else if (name !== '') errors.push(...each(`${at}.service.port.name`, name, portName));
  else if (number !== 0) {
    if (!isPort(number)) errors.push(invalid(`${at}.service.port.number`, number, portRange));
  } else errors.push(required(at, 'port name or number is required'));
  return errors;
}

export function validateNetworkPolicy(policy: Decoded<NetworkPolicy>): Errors {
  const s = policy.spec ?? {};
  const errors = labelSelector('spec.podSelector', s.podSelector);
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    (s[direction] ?? []).forEach((rule, i) => {
      const at = `spec.${direction}[${i}]`;
      (rule.ports ?? []).forEach((port, p) => {
        errors.push(...policyPortErrors(port, `${at}.ports[${p}]`));
      });
      const { [peers]: list = [] } = rule as Decoded<NetworkPolicyIngressRule & NetworkPolicyEgressRule>;
      list.forEach((peer, p) => {
        errors.push(...peerErrors(peer, `${at}.${peers}[${p}]`));
      });
    });
  const types = s.policyTypes ?? [];
  if (types.length > 2)
    errors.push(invalid('spec.policyTypes', types, 'may not specify more than two policyTypes'));
  types.forEach((type, i) => {
    errors.push(...oneOf(`spec.policyTypes[${i}]`, type, ['Egress', 'Ingress']));
  });
  return errors;
}

function policyPortErrors(port: Decoded<NetworkPolicyPort>, at: string): Errors {
  const errors = oneOf(`${at}.protocol`, port.protocol ?? 'TCP', ['SCTP', 'TCP', 'UDP']);
  const number = port.port;
  if (typeof number === 'number' && !isPort(number)) errors.push(invalid(`${at}.port`, number, portRange));
  if (typeof number === 'string') errors.push(...each(`${at}.port`, number, portName));
  const end = port.endPort;
  if (end === undefined) return errors;
  if (number === undefined)
    errors.push(required(`${at}.port`, 'must be specified when `endPort` is also specified'));
  else if (typeof number === 'string')
    errors.push(invalid(`${at}.endPort`, end, 'may not be specified when `port` is non-numeric'));
  else if (end < number)
    errors.push(invalid(`${at}.endPort`, end, 'must be greater than or equal to `port`'));
  if (!isPort(end)) errors.push(invalid(`${at}.endPort`, end, portRange));
  return errors;
}

function peerErrors(peer: Decoded<NetworkPolicyPeer>, at: string): Errors {
  const errors = [
    ...labelSelector(`${at}.podSelector`, peer.podSelector),
    ...labelSelector(`${at}.namespaceSelector`, peer.namespaceSelector),
  ];
  const block = peer.ipBlock;
  if (block === undefined) {
    if (peer.podSelector === undefined && peer.namespaceSelector === undefined)
      errors.push(required(at, 'must specify a peer'));
    return errors;
  }
  if (peer.podSelector !== undefined || peer.namespaceSelector !== undefined)
    errors.push(forbidden(at, 'may not specify both ipBlock and another peer'));
  errors.push(...named(`${at}.ipBlock.cidr`, block.cidr, cidrErrors));
  (block.except ?? []).forEach((except, i) => {
    errors.push(...each(`${at}.ipBlock.except[${i}]`, except, cidrErrors));
  });
  return errors;
}
