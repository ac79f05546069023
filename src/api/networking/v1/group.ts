// The kinds of networking.k8s.io/v1.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { canonicalIpErrors } from '../../../apimachinery/validation/addresses.ts';
import { newErrors } from '../../../apimachinery/validation/checks.ts';
import { balancerEntryErrors } from '../../core/v1/validate-statuses.ts';
import type {
  Ingress,
  IngressClass,
  IPAddress,
  NetworkPolicy,
  ServiceCIDR,
} from '../../generated/types/networking-v1.ts';
import { ageCell, nameCell, orNone, selectorCell } from '../../meta/row-cells.ts';
import {
  controllerStays,
  ingressWarnings,
  networkPolicyWarnings,
  validateIngress,
  validateIngressClass,
  validateIngressSpec,
  validateNetworkPolicy,
} from './validate-networking.ts';
import {
  validateIpAddress,
  validateIpAddressUpdate,
  validateServiceCidr,
  validateServiceCidrUpdate,
} from './validate-service-addresses.ts';

const shownHosts = 3;
function hosts(ingress: Decoded<Ingress>): string {
  const list = (ingress.spec?.rules ?? []).map((r) => r.host ?? '').filter((h) => h !== '');
  if (list.length === 0) return '*';
  const shown = list.slice(0, shownHosts).join(',');
  return list.length > shownHosts ? `${shown} + ${list.length - shownHosts} more...` : shown;
}

const ingress: KindBehaviour<Ingress> = {
  strategy: {
    validate: validateIngress,
    warnings: ingressWarnings,
    validateUpdate: (o, old, { subresource }) =>
      subresource === ''
        ? newErrors(validateIngressSpec(o), () => validateIngressSpec(old))
        : balancerEntryErrors(o.status?.loadBalancer?.ingress ?? [], old.status?.loadBalancer?.ingress ?? []),
  },
  ownUpdateRules: true,
  hasGeneration: true,
  row: (o, now) => [
    nameCell(o),
    orNone(o.spec?.ingressClassName ?? ''),
    hosts(o),
    (o.status?.loadBalancer?.ingress ?? []).map((i) => (i.ip ?? '') || (i.hostname ?? '')).join(','),
    (o.spec?.tls ?? []).length > 0 ? '80, 443' : '80',
    ageCell(o, now),
  ],
};

const ingressClass: KindBehaviour<IngressClass> = {
  hasGeneration: true,
  row: (o, now) => {
    const parameters = o.spec?.parameters;
    const group = parameters !== undefined ? (parameters.apiGroup ?? '') : '';
    return [
      nameCell(o),
      o.spec?.controller ?? '',
      parameters !== undefined
        ? `${parameters.kind ?? ''}${group === '' ? '' : `.${group}`}/${parameters.name ?? ''}`
        : '<none>',
      ageCell(o, now),
    ];
  },
  strategy: {
    validate: validateIngressClass,
    validateUpdate: controllerStays,
    applyDefaults(o) {
      const parameters = o.spec?.parameters;
      if (parameters !== undefined) parameters.scope ??= 'Cluster';
    },
  },
};

const networkPolicy: KindBehaviour<NetworkPolicy> = {
  hasGeneration: true,
  row: (o, now) => [nameCell(o), selectorCell(o.spec?.podSelector), ageCell(o, now)],
  strategy: {
    validate: validateNetworkPolicy,
    warnings: networkPolicyWarnings,
    applyDefaults(o) {
      const s = ensured(o, 'spec');
      for (const rule of [...(s.ingress ?? []), ...(s.egress ?? [])])
        for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
      // Egress is a policy's matter only when it says something of it.
      if ((s.policyTypes ?? []).length === 0)
        s.policyTypes = (s.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    },
  },
};

const ipAddress: KindBehaviour<IPAddress> = {
  nameRule: canonicalIpErrors,
  strategy: { validate: validateIpAddress, validateUpdate: validateIpAddressUpdate },
  row: (o) => {
    const parent = o.spec?.parentRef ?? {};
    const group = parent.group ?? '';
    const resource = `${parent.resource ?? ''}${group === '' ? '' : `.${group}`}`;
    return [
      nameCell(o),
      [resource, parent.namespace ?? '', parent.name ?? ''].filter((t) => t !== '').join('/'),
    ];
  },
};

const serviceCidr: KindBehaviour<ServiceCIDR> = {
  ownUpdateRules: true,
  strategy: {
    validate: validateServiceCidr,
    validateUpdate: validateServiceCidrUpdate,
    keptByStatus: 'all',
  },
  row: (o, now) => [nameCell(o), (o.spec?.cidrs ?? []).join(','), ageCell(o, now)],
};

export const networkingV1: GroupBehaviours<{
  ingressclasses: IngressClass;
  ingresses: Ingress;
  ipaddresses: IPAddress;
  networkpolicies: NetworkPolicy;
  servicecidrs: ServiceCIDR;
}> = {
  ingressclasses: ingressClass,
  ingresses: ingress,
  ipaddresses: ipAddress,
  networkpolicies: networkPolicy,
  servicecidrs: serviceCidr,
};
