// The kind Node: its row, the field that selectors name, its defaults, and the fields that are served no more.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { bool, meta, obj, objs, spec, status, str, strs } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateNode, validateNodeUpdate } from './validate-node.ts';

const roleLabel = 'node-role.kubernetes.io/';

function roles(node: JsonObject): string {
  const labels = obj(meta(node)['labels']);
  const found = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(roleLabel) && key.length > roleLabel.length) found.add(key.slice(roleLabel.length));
    else if (key === 'kubernetes.io/role' && str(value) !== '') found.add(str(value));
  }
  return orNone([...found].sort().join(','));
}

function nodeStatus(node: JsonObject): string {
  const ready = objs(status(node)['conditions']).find((c) => c['type'] === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady'];
  if (bool(spec(node)['unschedulable'])) words.push('SchedulingDisabled');
  return words.join(',');
}

const address = (node: JsonObject, type: string): string =>
  orNone(str(objs(status(node)['addresses']).find((a) => a['type'] === type)?.['address']));

function row(node: JsonObject, now: number): Json[] {
  const info = obj(status(node)['nodeInfo']);
  const unknown = (text: string): string => (text === '' ? '<unknown>' : text);
  return [
    nameCell(node),
    nodeStatus(node),
    roles(node),
    ageCell(node, now),
    str(info['kubeletVersion']),
    address(node, 'InternalIP'),
    address(node, 'ExternalIP'),
    unknown(str(info['osImage'])),
    unknown(str(info['kernelVersion'])),
    unknown(str(info['containerRuntimeVersion'])),
  ];
}

/** `podCIDR` is the first of `podCIDRs`, and wins where they differ. */
function oneListOfCidrs(nodeSpec: JsonObject): void {
  const first = str(nodeSpec['podCIDR']);
  const all = strs(nodeSpec['podCIDRs']);
  if (first !== '' && first !== all[0]) nodeSpec['podCIDRs'] = [first];
  else if (first === '' && all[0] !== undefined) nodeSpec['podCIDR'] = all[0];
}

/** What can be allocated is the capacity until the kubelet says otherwise. */
function applyDefaults(node: JsonObject): void {
  oneListOfCidrs(spec(node));
  const nodeStatus = status(node);
  if (nodeStatus['allocatable'] === undefined && Object.keys(obj(nodeStatus['capacity'])).length > 0)
    nodeStatus['allocatable'] = { ...obj(nodeStatus['capacity']) };
}

/** Kubelets took their configuration from here once. Upstream drops these unless they are stored already. */
function dropConfigSource(node: JsonObject, old?: JsonObject): void {
  if (old === undefined || spec(old)['configSource'] === undefined) delete spec(node)['configSource'];
  if (old === undefined || status(old)['config'] === undefined) delete status(node)['config'];
}

export const node: KindBehaviour = {
  row,
  selectableFields: (o) => ({ 'spec.unschedulable': String(bool(spec(o)['unschedulable'])) }),
  strategy: {
    applyDefaults,
    prepareForCreate: (o) => dropConfigSource(o),
    prepareForUpdate: dropConfigSource,
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
    keepsStatusOnCreate: true,
  },
};
