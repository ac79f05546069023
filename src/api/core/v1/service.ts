// The kind Service: its row and its defaults. Cluster IPs and node ports are given by the API server.
import type { Json } from '../../../apimachinery/declaration.ts';
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { cidrWarnings, ipWarnings } from '../../../apimachinery/validation/addresses.ts';
import { dns1035Label } from '../../../apimachinery/validation/names.ts';
import type { Service, ServicePort } from '../../generated/types/core-v1.ts';
import { ageCell, labelsCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateService, validateServiceUpdate } from './validate-service.ts';
import { validateServiceStatus } from './validate-statuses.ts';

function externalIPs(service: Decoded<Service>): string {
  const own = service.spec?.externalIPs ?? [];
  const given = (service.status?.loadBalancer?.ingress ?? []).map((i) => (i.ip ?? '') || (i.hostname ?? ''));
  switch (service.spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(own.join(','));
    case 'LoadBalancer': {
      const all = [...new Set([...given, ...own])].join(',');
      return all === '' ? '<pending>' : all;
    }
    case 'ExternalName':
      return service.spec?.externalName ?? '';
    default:
      return '<unknown>';
  }
}

const portText = (port: Decoded<ServicePort>): string =>
  `${port.port ?? 0}${(port.nodePort ?? 0) > 0 ? `:${port.nodePort ?? 0}` : ''}/${port.protocol ?? ''}`;

function row(service: Decoded<Service>, now: number): Json[] {
  const s = service.spec ?? {};
  const ip = (s.clusterIPs ?? [])[0] ?? s.clusterIP ?? '';
  return [
    nameCell(service),
    s.type ?? '',
    orNone(ip),
    externalIPs(service),
    orNone((s.ports ?? []).map(portText).join(',')),
    ageCell(service, now),
    labelsCell(s.selector),
  ];
}

function serviceDefaults(service: Decoded<Service>): void {
  const s = ensured(service, 'spec');
  s.sessionAffinity ??= 'None';
  if (s.sessionAffinity === 'None') delete s.sessionAffinityConfig;
  if (s.sessionAffinity === 'ClientIP') {
    const config = s.sessionAffinityConfig ?? {};
    const clientIP = config.clientIP ?? {};
    if (clientIP.timeoutSeconds === undefined)
      s.sessionAffinityConfig = { ...config, clientIP: { ...clientIP, timeoutSeconds: 10800 } };
  }
  s.type ??= 'ClusterIP';
  for (const port of s.ports ?? []) {
    if (!port.protocol) port.protocol = 'TCP';
    const target = port.targetPort;
    if (target === undefined || target === 0 || target === '') port.targetPort = port.port ?? 0;
  }
  const outside = s.type === 'NodePort' || s.type === 'LoadBalancer' || (s.externalIPs ?? []).length > 0;
  if (outside && s.type !== 'ExternalName' && !s.externalTrafficPolicy) s.externalTrafficPolicy = 'Cluster';
  if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(s.type ?? '')) s.internalTrafficPolicy ??= 'Cluster';
  if (s.type === 'LoadBalancer') {
    s.allocateLoadBalancerNodePorts ??= true;
    for (const ingress of service.status?.loadBalancer?.ingress ?? [])
      if (ingress.ip) ingress.ipMode ??= 'VIP';
  }
}

/** What is said of a type that the Service does not have. */
const topologyHints = 'service.kubernetes.io/topology-aware-hints';

function serviceWarnings({ metadata, spec: s = {} }: Decoded<Service>): string[] {
  const { clusterIPs = [], externalIPs = [], loadBalancerIP = '', loadBalancerSourceRanges = [] } = s;
  const headless = s.type === 'ClusterIP' && s.clusterIP === 'None';
  const out: string[] = [];
  if (metadata?.annotations?.[topologyHints] !== undefined)
    out.push(
      `annotation ${topologyHints} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    );
  if (s.clusterIP !== 'None')
    out.push(...clusterIPs.flatMap((ip, i) => ipWarnings(`spec.clusterIPs[${i}]`, ip)));
  if (headless) {
    const ignored = (field: string): void => void out.push(`spec.${field} is ignored for headless services`);
    if (loadBalancerIP !== '') ignored('loadBalancerIP');
    if (externalIPs.length > 0) ignored('externalIPs');
    if (s.sessionAffinity !== undefined && s.sessionAffinity !== 'None') ignored('SessionAffinity');
  }
  if (externalIPs.length > 0) out.push('spec.externalIPs is deprecated');
  out.push(...externalIPs.flatMap((ip, i) => ipWarnings(`spec.externalIPs[${i}]`, ip)));
  out.push(
    ...(loadBalancerIP === '' ? [] : ipWarnings('spec.loadBalancerIP', loadBalancerIP)),
    ...loadBalancerSourceRanges.flatMap((range, i) =>
      cidrWarnings(`spec.loadBalancerSourceRanges[${i}]`, range.trim()),
    ),
  );
  if (s.type === 'ExternalName' && externalIPs.length > 0)
    out.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (s.type !== 'ExternalName' && s.externalName)
    out.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  return out;
}

export const service: KindBehaviour<Service> = {
  nameRule: dns1035Label,
  row,
  selectableFields: (o) => ({
    'spec.clusterIP': o.spec?.clusterIP ?? '',
    'spec.type': o.spec?.type ?? '',
  }),
  strategy: {
    applyDefaults: serviceDefaults,
    validate: validateService,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateServiceStatus(o, old) : validateServiceUpdate(o, old),
    warnings: serviceWarnings,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
};
