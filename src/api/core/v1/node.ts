// The kind Node: its row, the field that selectors name, its defaults, and the fields that are served no more.
import type { Json } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { cidrWarnings } from '../../../apimachinery/validation/addresses.ts';
import type { Node, NodeSpec } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateNode, validateNodeUpdate } from './validate-node.ts';

const roleLabel = 'node-role.kubernetes.io/';

function roles(node: Decoded<Node>): string {
  const labels = node.metadata?.labels ?? {};
  const found = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(roleLabel) && key.length > roleLabel.length) found.add(key.slice(roleLabel.length));
    else if (key === 'kubernetes.io/role' && value) found.add(value ?? '');
  }
  return orNone([...found].sort().join(','));
}

function nodeStatus(node: Decoded<Node>): string {
  const ready = (node.status?.conditions ?? []).find((c) => c.type === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (node.spec?.unschedulable === true) words.push('SchedulingDisabled');
  return words.join(',');
}

const address = (node: Decoded<Node>, type: string): string =>
  orNone((node.status?.addresses ?? []).find((a) => a.type === type)?.address ?? '');

function row(node: Decoded<Node>, now: number): Json[] {
  const info = node.status?.nodeInfo ?? {};
  const unknown = (text: string): string => (text === '' ? '<unknown>' : text);
  return [
    nameCell(node),
    nodeStatus(node),
    roles(node),
    ageCell(node, now),
    info.kubeletVersion ?? '',
    address(node, 'InternalIP'),
    address(node, 'ExternalIP'),
    unknown(info.osImage ?? ''),
    unknown(info.kernelVersion ?? ''),
    unknown(info.containerRuntimeVersion ?? ''),
  ];
}

/** `podCIDR` is the first of `podCIDRs`, and wins where they differ. */
function oneListOfCidrs(nodeSpec: Decoded<NodeSpec>): void {
  const first = nodeSpec.podCIDR ?? '';
  const all = nodeSpec.podCIDRs ?? [];
  if (first !== '' && first !== all[0]) nodeSpec.podCIDRs = [first];
  else if (first === '' && all[0] !== undefined) nodeSpec.podCIDR = all[0];
}

/** What can be allocated is the capacity until the kubelet says otherwise. */
function applyDefaults(node: Decoded<Node>): void {
  oneListOfCidrs(node.spec ?? {});
  const nodeStatus = node.status ?? {};
  if (nodeStatus.allocatable === undefined && Object.keys(nodeStatus.capacity ?? {}).length > 0)
    nodeStatus.allocatable = { ...(nodeStatus.capacity ?? {}) };
}

/** Kubelets took their configuration from here once. Upstream drops these unless they are stored already. */
function dropConfigSource(node: Decoded<Node>, old?: Decoded<Node>): void {
  if (old === undefined || old.spec?.configSource === undefined) delete node.spec?.configSource;
  if (old === undefined || old.status?.config === undefined) delete node.status?.config;
}

const nodeWarnings = ({ spec = {} }: Decoded<Node>): string[] => [
  ...(spec.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
  ...(spec.podCIDRs ?? []).flatMap((cidr, i) => cidrWarnings(`spec.podCIDRs[${i}]`, cidr)),
];

export const node: KindBehaviour<Node> = {
  row,
  selectableFields: (o) => ({ 'spec.unschedulable': String(o.spec?.unschedulable === true) }),
  strategy: {
    applyDefaults,
    prepareForCreate: (o) => dropConfigSource(o),
    prepareForUpdate: dropConfigSource,
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
    warnings: nodeWarnings,
    keepsStatusOnCreate: true,
  },
};
