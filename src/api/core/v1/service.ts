// The kind Service: its row and its defaults. Cluster IPs and node ports are given by the API server.
import type { Json } from '../../../apimachinery/declaration.ts';
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { dns1035Label } from '../../../apimachinery/validation/names.ts';
import type { Service, ServicePort } from '../../generated/types/core-v1.ts';
import { ageCell, labelsCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateService, validateServiceUpdate } from './validate-service.ts';

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
function serviceWarnings({ spec: s = {} }: Decoded<Service>): string[] {
  const headless = s.type === 'ClusterIP' && s.clusterIP === 'None';
  return [
    ...(headless && s.sessionAffinity !== undefined && s.sessionAffinity !== 'None'
      ? ['spec.SessionAffinity is ignored for headless services']
      : []),
    ...(s.type !== 'ExternalName' && s.externalName
      ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
      : []),
  ];
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
    validateUpdate: validateServiceUpdate,
    warnings: serviceWarnings,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
};
