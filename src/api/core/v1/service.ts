// The kind Service: its row and its defaults. Cluster IPs and node ports are given by the API server.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import {
  ensure,
  num,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
  strs,
} from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { dns1035Label } from '../../../apimachinery/validation/names.ts';
import { ageCell, labelsCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateService, validateServiceUpdate } from './validate-service.ts';

function externalIPs(service: JsonObject): string {
  const own = strs(spec(service)['externalIPs']);
  const given = objs(obj(status(service)['loadBalancer'])['ingress']).map(
    (i) => str(i['ip']) || str(i['hostname']),
  );
  switch (spec(service)['type']) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(own.join(','));
    case 'LoadBalancer': {
      const all = [...new Set([...given, ...own])].join(',');
      return all === '' ? '<pending>' : all;
    }
    case 'ExternalName':
      return str(spec(service)['externalName']);
    default:
      return '<unknown>';
  }
}

const portText = (port: JsonObject): string =>
  `${num(port['port'])}${num(port['nodePort']) > 0 ? `:${num(port['nodePort'])}` : ''}/${str(port['protocol'])}`;

function row(service: JsonObject, now: number): Json[] {
  const s = spec(service);
  const ip = strs(s['clusterIPs'])[0] ?? str(s['clusterIP']);
  return [
    nameCell(service),
    str(s['type']),
    orNone(ip),
    externalIPs(service),
    orNone(objs(s['ports']).map(portText).join(',')),
    ageCell(service, now),
    labelsCell(s['selector']),
  ];
}

function serviceDefaults(service: JsonObject): void {
  const s = ensure(service, 'spec');
  setDefault(s, 'sessionAffinity', 'None');
  if (s['sessionAffinity'] === 'None') delete s['sessionAffinityConfig'];
  if (s['sessionAffinity'] === 'ClientIP') {
    const config = obj(s['sessionAffinityConfig']);
    const clientIP = obj(config['clientIP']);
    if (clientIP['timeoutSeconds'] === undefined)
      s['sessionAffinityConfig'] = { ...config, clientIP: { ...clientIP, timeoutSeconds: 10800 } };
  }
  setDefault(s, 'type', 'ClusterIP');
  for (const port of objs(s['ports'])) {
    if (str(port['protocol']) === '') port['protocol'] = 'TCP';
    const target = port['targetPort'];
    if (target === undefined || target === 0 || target === '') port['targetPort'] = num(port['port']);
  }
  const outside =
    s['type'] === 'NodePort' || s['type'] === 'LoadBalancer' || strs(s['externalIPs']).length > 0;
  if (outside && s['type'] !== 'ExternalName' && str(s['externalTrafficPolicy']) === '')
    s['externalTrafficPolicy'] = 'Cluster';
  if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(str(s['type'])))
    setDefault(s, 'internalTrafficPolicy', 'Cluster');
  if (s['type'] === 'LoadBalancer') {
    setDefault(s, 'allocateLoadBalancerNodePorts', true);
    for (const ingress of objs(obj(status(service)['loadBalancer'])['ingress']))
      if (str(ingress['ip']) !== '') setDefault(ingress, 'ipMode', 'VIP');
  }
}

export const service: KindBehaviour = {
  nameRule: dns1035Label,
  row,
  selectableFields: (o) => ({
    'spec.clusterIP': str(spec(o)['clusterIP']),
    'spec.type': str(spec(o)['type']),
  }),
  strategy: {
    applyDefaults: serviceDefaults,
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
};
