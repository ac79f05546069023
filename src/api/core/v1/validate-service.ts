// Services: ports, addresses, and what may not change.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { cidrErrors, ipErrors, isIPv4, usableIpErrors } from '../../../apimachinery/validation/addresses.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labels, named, oneOf, repeated } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain, isPort, portRange } from '../../../apimachinery/validation/names.ts';
import type { Service, ServicePort, ServiceSpec } from '../../generated/types/core-v1.ts';
import { portOrName } from './validate-probe.ts';

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const protocols = ['SCTP', 'TCP', 'UDP'];

const maxAffinitySeconds = 86400;
const distributions = ['PreferClose', 'PreferSameNode', 'PreferSameZone'];
const forBalancers = "may only be used when `type` is 'LoadBalancer'";
const topologyHints = 'service.kubernetes.io/topology-aware-hints';
const topologyMode = 'service.kubernetes.io/topology-mode';
const sourceRanges = 'service.beta.kubernetes.io/load-balancer-source-ranges';

type Spec = Decoded<ServiceSpec>;

export const isExternallyAccessible = ({ type, externalIPs = [] }: Spec): boolean =>
  type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && externalIPs.length > 0);
const isHeadless = ({ clusterIP, clusterIPs = [] }: Spec): boolean =>
  clusterIP === 'None' || clusterIPs[0] === 'None';

export function validateService(service: Decoded<Service>): Errors {
  const s = service.spec ?? {};
  const { type = '', ports = [] } = s;
  const errors = annotationErrors(service);
  if (ports.length === 0 && !isHeadless(s) && type !== 'ExternalName') errors.push(required('spec.ports'));
  errors.push(
    ...typeErrors(s, type, isHeadless(s)),
    ...portErrors(ports),
    ...labels('spec.selector', s.selector),
    ...affinityErrors(s),
    ...(type === 'ExternalName' ? [] : clusterIpErrors(s)),
    ...(s.externalIPs ?? []).flatMap((ip, i) => each(`spec.externalIPs[${i}]`, ip, usableIpErrors)),
    ...(type === '' ? [required('spec.type')] : oneOf('spec.type', type, types)),
    ...nodePortErrors(ports, type),
    ...repeatedPorts(ports),
    ...sourceRangeErrors(service),
  );
  if (s.allocateLoadBalancerNodePorts !== undefined && type !== 'LoadBalancer')
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', forBalancers));
  return [...errors, ...classErrors(s), ...trafficErrors(s)];
}

function annotationErrors(service: Decoded<Service>): Errors {
  const { [topologyMode]: mode, [topologyHints]: hints } = service.metadata?.annotations ?? {};
  return mode === undefined || hints === undefined || mode === hints
    ? []
    : [
        invalid(
          `metadata.annotations[${topologyMode}]`,
          mode,
          `must match annotations[${topologyHints}] when both are specified`,
        ),
      ];
}

function affinityErrors(s: Spec): Errors {
  const { sessionAffinity: affinity = '', sessionAffinityConfig: config } = s;
  const at = 'spec.sessionAffinityConfig';
  if (affinity === '') return [required('spec.sessionAffinity')];
  if (affinity === 'None')
    return config === undefined ? [] : [forbidden(at, 'must not be set when session affinity is None')];
  if (affinity !== 'ClientIP') return oneOf('spec.sessionAffinity', affinity, ['ClientIP', 'None']);
  const why = 'when session affinity type is ClientIP';
  if (config === undefined) return [required(at, why)];
  if (config.clientIP === undefined) return [required(`${at}.clientIP`, why)];
  const field = `${at}.clientIP.timeoutSeconds`;
  const seconds = config.clientIP.timeoutSeconds;
  if (seconds === undefined) return [required(field, why)];
  return seconds <= 0 || seconds > maxAffinitySeconds
    ? [invalid(field, seconds, `must be greater than 0 and less than ${maxAffinitySeconds}`)]
    : [];
}

function sameFirstErrors(at: string, clusterIP: string, ips: readonly string[]): Errors {
  if (clusterIP === '')
    return ips.length === 0 ? [] : [invalid(at, ips, 'must be empty when `clusterIP` is not specified')];
  if (ips.length === 0) return [required(at)];
  return ips[0] === clusterIP ? [] : [invalid(at, ips, 'first value must match `clusterIP`')];
}

/** Of addresses and their families, as they are asked for and as they are stored. */
export function clusterIpErrors(s: Spec): Errors {
  const { clusterIP = '', clusterIPs: ips = [], ipFamilies = [] } = s;
  const at = 'spec.clusterIPs';
  const errors = sameFirstErrors(at, clusterIP, ips);
  const again = repeated(ipFamilies);
  ipFamilies.forEach((family, i) => {
    errors.push(...oneOf(`spec.ipFamilies[${i}]`, family, ['IPv4', 'IPv6']));
    if (again.has(i)) errors.push(duplicate(`spec.ipFamilies[${i}]`, family));
  });
  if (s.ipFamilyPolicy !== undefined)
    errors.push(...oneOf('spec.ipFamilyPolicy', s.ipFamilyPolicy, policies));
  const headless = ips[0] === 'None';
  if (headless && ips.length > 1) errors.push(invalid(at, ips, "'None' must be the first and only value"));
  const wrong = ips.flatMap((ip, i) => (i === 0 && ip === 'None' ? [] : each(`${at}[${i}]`, ip, ipErrors)));
  errors.push(...wrong);
  if (ips.length > 2) errors.push(invalid(at, ips, 'may only hold up to 2 values'));
  if (wrong.length > 0 || headless) return errors;
  if (ips.length === 2 && isIPv4(ips[0]!) === isIPv4(ips[1]!))
    errors.push(invalid(at, ips, 'may specify no more than one IP for each IP family'));
  ips.forEach((ip, i) => {
    const [wanted, own] = [ipFamilies[i], isIPv4(ip) ? 'IPv4' : 'IPv6'];
    if (ip !== '' && (wanted === 'IPv4' || wanted === 'IPv6') && wanted !== own)
      errors.push(
        invalid(`${at}[${i}]`, ip, `expected an ${wanted} value as indicated by \`ipFamilies[${i}]\``),
      );
  });
  return errors;
}
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

function sourceRangeErrors(service: Decoded<Service>): Errors {
  const { type, loadBalancerSourceRanges: ranges = [] } = service.spec ?? {};
  const annotated = service.metadata?.annotations?.[sourceRanges];
  if (ranges.length === 0 && annotated === undefined) return [];
  // Upstream writes the field so.
  const field = ranges.length > 0 ? 'spec.LoadBalancerSourceRanges' : `metadata.annotations[${sourceRanges}]`;
  const errors: Errors = type === 'LoadBalancer' ? [] : [forbidden(field, forBalancers)];
  if (ranges.length > 0)
    return [...errors, ...ranges.flatMap((range, i) => each(`${field}[${i}]`, range.trim(), cidrErrors))];
  const text = (annotated ?? '').trim();
  return text === ''
    ? errors
    : [...errors, ...text.split(',').flatMap((range) => each(field, range.trim(), cidrErrors))];
}

const classErrors = ({ type, loadBalancerClass: name }: Spec): Errors => {
  if (name === undefined) return [];
  return type === 'LoadBalancer'
    ? each('spec.loadBalancerClass', name, qualifiedNameErrors)
    : [forbidden('spec.loadBalancerClass', forBalancers)];
};

function trafficErrors(s: Spec): Errors {
  const { externalTrafficPolicy: outer = '', internalTrafficPolicy: inner, trafficDistribution } = s;
  const field = 'spec.externalTrafficPolicy';
  const errors: Errors = [];
  if (!isExternallyAccessible(s)) {
    if (outer !== '')
      errors.push(invalid(field, outer, 'may only be set for externally-accessible services'));
  } else if (outer === '') errors.push(required(field));
  else errors.push(...oneOf(field, outer, ['Cluster', 'Local']));
  const port = s.healthCheckNodePort ?? 0;
  const isChecked = s.type === 'LoadBalancer' && outer === 'Local';
  if (port !== 0 && !isChecked)
    errors.push(
      invalid(
        'spec.healthCheckNodePort',
        port,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  if (port !== 0 && isChecked && !isPort(port))
    errors.push(invalid('spec.healthCheckNodePort', port, portRange));
  if (inner !== undefined) errors.push(...oneOf('spec.internalTrafficPolicy', inner, ['Cluster', 'Local']));
  if (trafficDistribution !== undefined)
    errors.push(...oneOf('spec.trafficDistribution', trafficDistribution, distributions));
  return errors;
}

function typeErrors(s: Spec, type: string, headless: boolean): Errors {
  if (type === 'ExternalName') {
    const name = (s.externalName ?? '').replace(/\.$/, '');
    const errors: Errors = [];
    const forbid = (field: string): void => {
      errors.push(forbidden(`spec.${field}`, 'may not be set for ExternalName services'));
    };
    if ((s.clusterIPs ?? []).some((ip) => ip !== '')) forbid('clusterIPs');
    if ((s.ipFamilies ?? []).length > 0) forbid('ipFamilies');
    if (s.ipFamilyPolicy !== undefined) forbid('ipFamilyPolicy');
    return [...errors, ...named('spec.externalName', name, dnsSubdomain)];
  }
  if ((type === 'NodePort' || type === 'LoadBalancer') && headless)
    return [invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)];
  return [];
}

type Ports = readonly Decoded<ServicePort>[];

function portErrors(ports: Ports): Errors {
  const errors: Errors = [];
  const names = new Set<string>();
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
    if (port.appProtocol !== undefined)
      errors.push(...each(`${at}.appProtocol`, port.appProtocol, qualifiedNameErrors));
  });
  return errors;
}

function nodePortErrors(ports: Ports, type: string): Errors {
  const seen = new Set<string>();
  return ports.flatMap(({ nodePort = 0, protocol = '' }, i) => {
    if (nodePort === 0) return [];
    const field = `spec.ports[${i}].nodePort`;
    const errors: Errors =
      type === 'ClusterIP' ? [forbidden(field, "may not be used when `type` is 'ClusterIP'")] : [];
    if (type !== 'ClusterIP' && !isPort(nodePort)) errors.push(invalid(field, nodePort, portRange));
    const key = `${protocol}/${nodePort}`;
    if (seen.has(key)) errors.push(duplicate(field, nodePort));
    seen.add(key);
    return errors;
  });
}

function repeatedPorts(ports: Ports): Errors {
  const seen = new Set<string>();
  return ports.flatMap(({ port = 0, protocol = '' }, i) => {
    const key = `${protocol}/${port}`;
    const again = seen.has(key);
    seen.add(key);
    // As Go prints a type of its own: by the names of its fields there.
    const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    return again ? [duplicate(`spec.ports[${i}]`, shown)] : [];
  });
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
    errors.push(invalid('spec.loadBalancerClass', s.loadBalancerClass, 'may not change once set'));
  return errors;
}
