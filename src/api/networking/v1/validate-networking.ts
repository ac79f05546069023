// Ingresses and network policies.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required, tooLong } from '../../../apimachinery/field-error.ts';
import { cidrErrors, cidrWarnings, isIp, readCidr } from '../../../apimachinery/validation/addresses.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  domainPrefixedPath,
  each,
  labelSelector,
  named,
  oneOf,
  optional,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import {
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  isPort,
  pathSegment,
  portName,
  portRange,
  wildcardSubdomain,
} from '../../../apimachinery/validation/names.ts';
import { isWithin } from '../../../base/ip.ts';
import type { TypedLocalObjectReference } from '../../generated/types/core-v1.ts';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressClass,
  IngressClassParametersReference,
  IPBlock,
  NetworkPolicy,
  NetworkPolicyEgressRule,
  NetworkPolicyIngressRule,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '../../generated/types/networking-v1.ts';

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];

const classAnnotation = 'kubernetes.io/ingress.class';

export function validateIngress(ingress: Decoded<Ingress>): Errors {
  const annotated = ingress.metadata?.annotations?.[classAnnotation];
  const name = ingress.spec?.ingressClassName;
  const errors = validateIngressSpec(ingress);
  if (annotated !== undefined && name !== undefined && annotated !== name)
    errors.push(
      invalid(
        `annotations.${classAnnotation}`,
        annotated,
        'must match `ingressClassName` when both are specified',
      ),
    );
  return errors;
}

export function validateIngressSpec(ingress: Decoded<Ingress>): Errors {
  const s = ingress.spec ?? {};
  const errors: Errors = [];
  if (s.defaultBackend === undefined && (s.rules ?? []).length === 0)
    errors.push(invalid('spec', s.rules ?? null, 'either `defaultBackend` or `rules` must be specified'));
  if (s.defaultBackend !== undefined) errors.push(...backendErrors(s.defaultBackend, 'spec.defaultBackend'));
  (s.rules ?? []).forEach((rule, i) => {
    const at = `spec.rules[${i}]`;
    const host = rule.host ?? '';
    if (isIp(host)) errors.push(invalid(`${at}.host`, host, 'must be a DNS name, not an IP address'));
    if (host !== '') errors.push(...each(`${at}.host`, host, hostErrors));
    const http = rule.http;
    if (http === undefined) return;
    if ((http.paths ?? []).length === 0) errors.push(required(`${at}.http.paths`));
    (http.paths ?? []).forEach((path, p) => {
      errors.push(...pathErrors(path, `${at}.http.paths[${p}]`));
    });
  });
  (s.tls ?? []).forEach((tls, i) => {
    const at = `spec.tls[${i}]`;
    (tls.hosts ?? []).forEach((host, h) => {
      errors.push(...each(`${at}.hosts[${h}]`, host, hostErrors));
    });
    errors.push(...optional(`${at}.secretName`, tls.secretName, dnsSubdomain));
  });
  if (s.ingressClassName !== undefined)
    errors.push(...each('spec.ingressClassName', s.ingressClassName, dnsSubdomain));
  return errors;
}
const hostErrors = (host: string): string[] =>
  host.includes('*') ? wildcardSubdomain(host) : dnsSubdomain(host);

function pathErrors(path: Decoded<HTTPIngressPath>, at: string): Errors {
  const errors: Errors = [];
  const type = path.pathType ?? '';
  const text = path.path ?? '';
  if (type === '') errors.push(required(`${at}.pathType`, 'pathType must be specified'));
  else if (!pathTypes.includes(type)) errors.push(notSupported(`${at}.pathType`, type, pathTypes));
  else if (type !== 'ImplementationSpecific' || text !== '') {
    if (!text.startsWith('/')) errors.push(invalid(`${at}.path`, text, 'must be an absolute path'));
    if (type !== 'ImplementationSpecific') {
      for (const bad of ['//', '/./', '/../', '%2f', '%2F'])
        if (text.includes(bad)) errors.push(invalid(`${at}.path`, text, `must not contain '${bad}'`));
      for (const bad of ['/..', '/.'])
        if (text.endsWith(bad)) errors.push(invalid(`${at}.path`, text, `cannot end with '${bad}'`));
    }
  }
  return [...errors, ...backendErrors(path.backend ?? {}, `${at}.backend`)];
}

/** Of what a backend or a class names by group, kind and name. */
function referenceErrors(reference: Decoded<TypedLocalObjectReference>, at: string): Errors {
  const { apiGroup } = reference;
  const part = (field: 'kind' | 'name'): Errors =>
    reference[field]
      ? each(`${at}.${field}`, reference[field], pathSegment)
      : [required(`${at}.${field}`, `${field} is required`)];
  return [
    ...(apiGroup === undefined ? [] : each(`${at}.apiGroup`, apiGroup, dnsSubdomain)),
    ...part('kind'),
    ...part('name'),
  ];
}

function backendErrors(backend: Decoded<IngressBackend>, at: string): Errors {
  const service = backend.service;
  const resource = backend.resource;
  if (service !== undefined && resource !== undefined)
    return [invalid(at, '', 'cannot set both resource and service backends')];
  if (resource !== undefined) return referenceErrors(resource, `${at}.resource`);
  if (service === undefined) return [invalid(at, '', 'resource or service backend is required')];
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

const policyTypes = ['Ingress', 'Egress'];
const protocols = ['TCP', 'UDP', 'SCTP'];

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
    return [...errors, invalid('spec.policyTypes', types, 'may not specify more than two policyTypes')];
  types.forEach((type, i) => {
    if (!policyTypes.includes(type))
      errors.push(notSupported(`spec.policyTypes[${i}]`, type, policyTypes, true));
  });
  return errors;
}

function policyPortErrors(port: Decoded<NetworkPolicyPort>, at: string): Errors {
  const { protocol = 'TCP', port: number, endPort: end } = port;
  const errors: Errors = protocols.includes(protocol)
    ? []
    : [notSupported(`${at}.protocol`, protocol, protocols, true)];
  const field = `${at}.endPort`;
  if (typeof number !== 'number') {
    const lacking = number === undefined ? 'not specified' : 'non-numeric';
    if (end !== undefined)
      errors.push(invalid(field, end, `may not be specified when \`port\` is ${lacking}`));
    return number === undefined ? errors : [...errors, ...each(`${at}.port`, number, portName)];
  }
  if (!isPort(number)) errors.push(invalid(`${at}.port`, number, portRange));
  if (end === undefined) return errors;
  // It is the first port that upstream shows.
  if (end < number) errors.push(invalid(field, number, 'must be greater than or equal to `port`'));
  if (!isPort(end)) errors.push(invalid(field, end, portRange));
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
  errors.push(...blockErrors(block, `${at}.ipBlock`));
  if (peer.podSelector !== undefined || peer.namespaceSelector !== undefined)
    errors.push(forbidden(at, 'may not specify both ipBlock and another peer'));
  return errors;
}

function blockErrors({ cidr = '', except = [] }: Decoded<IPBlock>, at: string): Errors {
  const errors = named(`${at}.cidr`, cidr, cidrErrors);
  const whole = readCidr(cidr).cidr;
  if (whole === undefined) return errors;
  except.forEach((text, i) => {
    const field = `${at}.except[${i}]`;
    const { wrong, cidr: part } = readCidr(text);
    for (const why of wrong) errors.push(invalid(field, text, why));
    if (part !== undefined && (!isWithin(part, whole) || part.bits <= whole.bits))
      errors.push(invalid(field, text, 'must be a strict subset of `cidr`'));
  });
  return errors;
}

const maxController = 250;

export function validateIngressClass(ingressClass: Decoded<IngressClass>): Errors {
  const { controller = '', parameters } = ingressClass.spec ?? {};
  const errors = domainPrefixedPath('spec.controller', controller);
  if (controller.length > maxController) errors.unshift(tooLong('spec.controller', maxController));
  return parameters === undefined ? errors : [...errors, ...parameterErrors(parameters, 'spec.parameters')];
}

export const controllerStays = (ingressClass: Decoded<IngressClass>, old: Decoded<IngressClass>): Errors =>
  unchanged('spec.controller', ingressClass.spec?.controller ?? '', old.spec?.controller ?? '');

function parameterErrors(reference: Decoded<IngressClassParametersReference>, at: string): Errors {
  const { scope, namespace } = reference;
  const errors = referenceErrors(reference, at);
  if (scope === undefined) return [...errors, required(`${at}.scope`)];
  errors.push(...oneOf(`${at}.scope`, scope, ['Cluster', 'Namespace']));
  const field = `${at}.namespace`;
  if (scope === 'Namespace' && namespace === undefined)
    errors.push(required(field, "`parameters.scope` is set to 'Namespace'"));
  if (scope === 'Namespace' && namespace !== undefined) errors.push(...each(field, namespace, dnsLabel));
  if (scope === 'Cluster' && namespace !== undefined)
    errors.push(forbidden(field, "`parameters.scope` is set to 'Cluster'"));
  return errors;
}

/** Of a new one that names its class as it was done once. */
export const ingressWarnings = ({ metadata, spec }: Decoded<Ingress>, old: unknown): string[] =>
  old === undefined &&
  metadata?.annotations?.[classAnnotation] !== undefined &&
  spec?.ingressClassName === undefined
    ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
    : [];

const peerWarnings = (peers: readonly Decoded<NetworkPolicyPeer>[] | undefined, at: string): string[] =>
  (peers ?? []).flatMap(({ ipBlock: block }, i) =>
    block === undefined
      ? []
      : [
          ...cidrWarnings(`${at}[${i}].ipBlock.cidr`, block.cidr ?? ''),
          ...(block.except ?? []).flatMap((cidr, k) =>
            cidrWarnings(`${at}[${i}].ipBlock.except[${k}]`, cidr),
          ),
        ],
  );

export const networkPolicyWarnings = ({ spec = {} }: Decoded<NetworkPolicy>): string[] => [
  ...(spec.ingress ?? []).flatMap((rule, i) => peerWarnings(rule.from, `spec.ingress[${i}].from`)),
  ...(spec.egress ?? []).flatMap((rule, i) => peerWarnings(rule.to, `spec.egress[${i}].to`)),
];
