// The kinds of networking.k8s.io/v1.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import {
  arr,
  ensure,
  isObject,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
  strs,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ipErrors } from '../../../apimachinery/validation/names.ts';
import { ageCell, nameCell, orNone, selectorCell } from '../../meta/row-cells.ts';
import { validateIngress, validateNetworkPolicy } from './validate-networking.ts';
import {
  validateIpAddress,
  validateIpAddressUpdate,
  validateServiceCidr,
  validateServiceCidrUpdate,
} from './validate-service-addresses.ts';

const shownHosts = 3;
function hosts(ingress: JsonObject): string {
  const list = objs(spec(ingress)['rules'])
    .map((r) => str(r['host']))
    .filter((h) => h !== '');
  if (list.length === 0) return '*';
  const shown = list.slice(0, shownHosts).join(',');
  return list.length > shownHosts ? `${shown} + ${list.length - shownHosts} more...` : shown;
}

const ingress: KindBehaviour = {
  strategy: { validate: validateIngress },
  hasGeneration: true,
  row: (o, now) => [
    nameCell(o),
    orNone(str(spec(o)['ingressClassName'])),
    hosts(o),
    objs(obj(status(o)['loadBalancer'])['ingress'])
      .map((i) => str(i['ip']) || str(i['hostname']))
      .join(','),
    arr(spec(o)['tls']).length > 0 ? '80, 443' : '80',
    ageCell(o, now),
  ],
};

const ingressClass: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => {
    const parameters = spec(o)['parameters'];
    const group = isObject(parameters) ? str(parameters['apiGroup']) : '';
    return [
      nameCell(o),
      str(spec(o)['controller']),
      isObject(parameters)
        ? `${str(parameters['kind'])}${group === '' ? '' : `.${group}`}/${str(parameters['name'])}`
        : '<none>',
      ageCell(o, now),
    ];
  },
  strategy: {
    applyDefaults(o) {
      const parameters = spec(o)['parameters'];
      if (isObject(parameters)) setDefault(parameters, 'scope', 'Cluster');
    },
  },
};

const networkPolicy: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => [nameCell(o), selectorCell(spec(o)['podSelector']), ageCell(o, now)],
  strategy: {
    validate: validateNetworkPolicy,
    applyDefaults(o) {
      const s = ensure(o, 'spec');
      for (const rule of [...objs(s['ingress']), ...objs(s['egress'])])
        for (const port of objs(rule['ports'])) setDefault(port, 'protocol', 'TCP');
      // Egress is a policy's matter only when it says something of it.
      if (arr(s['policyTypes']).length === 0)
        s['policyTypes'] = arr(s['egress']).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    },
  },
};

const ipAddress: KindBehaviour = {
  nameRule: ipErrors,
  strategy: { validate: validateIpAddress, validateUpdate: validateIpAddressUpdate },
  row: (o) => {
    const parent = obj(spec(o)['parentRef']);
    const group = str(parent['group']);
    const resource = `${str(parent['resource'])}${group === '' ? '' : `.${group}`}`;
    return [
      nameCell(o),
      [resource, str(parent['namespace']), str(parent['name'])].filter((t) => t !== '').join('/'),
    ];
  },
};

const serviceCidr: KindBehaviour = {
  strategy: { validate: validateServiceCidr, validateUpdate: validateServiceCidrUpdate },
  row: (o, now) => [nameCell(o), strs(spec(o)['cidrs']).join(','), ageCell(o, now)],
};

export const networkingV1: GroupBehaviours = {
  ingressclasses: ingressClass,
  ingresses: ingress,
  ipaddresses: ipAddress,
  networkpolicies: networkPolicy,
  servicecidrs: serviceCidr,
};
