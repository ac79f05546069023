// The kind Node: its row, the field that selectors name, and the defaults of its status.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { bool, meta, obj, objs, spec, status, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateTaints } from './validate-scheduling.ts';

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

/** What can be allocated is the capacity until the kubelet says otherwise. */
function applyDefaults(node: JsonObject): void {
  const nodeStatus = status(node);
  if (nodeStatus['allocatable'] === undefined && Object.keys(obj(nodeStatus['capacity'])).length > 0)
    nodeStatus['allocatable'] = { ...obj(nodeStatus['capacity']) };
}

export const node: KindBehaviour = {
  row,
  selectableFields: (o) => ({ 'spec.unschedulable': String(bool(spec(o)['unschedulable'])) }),
  strategy: {
    applyDefaults,
    validate: (o) => validateTaints(spec(o)['taints'], 'spec.taints'),
    keepsStatusOnCreate: true,
  },
};
