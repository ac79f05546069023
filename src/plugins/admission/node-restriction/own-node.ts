// What a node may write of its own Node: a closed list. What is not named here stays as others set it.
import { nodes } from '../../../api/generated/resources.ts';
import type { Node } from '../../../api/generated/types/core-v1.ts';
import type { Json } from '../../../apimachinery/declaration.ts';
import { jsonEqual } from '../../../apimachinery/equality.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import { comparableIp } from '../../../base/ip.ts';
import { quote, refuse } from '../request/refuse.ts';
import { previous, requested } from '../request/typed-request.ts';

/** Labels below kubernetes.io and k8s.io that a kubelet may set on itself. */
const kubeletLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];
const kubeletDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const within = (domain: string, parent: string): boolean =>
  domain === parent || domain.endsWith(`.${parent}`);

function isForbiddenLabel(label: string): boolean {
  const slash = label.indexOf('/');
  if (slash < 0) return false;
  const domain = label.slice(0, slash);
  if (!within(domain, 'kubernetes.io') && !within(domain, 'k8s.io')) return false;
  return !kubeletLabels.includes(label) && !kubeletDomains.some((allowed) => within(domain, allowed));
}

function changedLabels(now: Node, old: Node | undefined): string[] {
  const before: Record<string, string | undefined> = old?.metadata?.labels ?? {};
  const after: Record<string, string | undefined> = now.metadata?.labels ?? {};
  const value = (labels: Record<string, string | undefined>, name: string): string | undefined =>
    Object.hasOwn(labels, name) ? labels[name] : undefined;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => value(before, name) !== value(after, name))
    .sort();
}

const same = (a: unknown, b: unknown): boolean => jsonEqual((a ?? null) as Json, (b ?? null) as Json);

/** Parts of the spec that a kubelet may write; `taints` when it registers only. */
const ownSpec = ['unschedulable', 'providerID'];
const ownSpecAtFirst = [...ownSpec, 'taints'];
/** An owner that does not exist has the node collected as garbage, and it comes back as it likes (CVE-2025-5187). */
const othersMeta = ['ownerReferences', 'finalizers'] as const;

function checkCreate(request: AdmissionRequest, node: string, now: Node): void {
  if (now.spec?.configSource !== undefined)
    refuse(request, `node ${quote(node)} is not allowed to create pods with a non-nil configSource`);
  const bad = changedLabels(now, undefined).filter(isForbiddenLabel);
  if (bad.length > 0)
    refuse(request, `node ${quote(node)} is not allowed to set the following labels: ${bad.join(', ')}`);
  for (const field of othersMeta)
    if ((now.metadata?.[field] ?? []).length > 0)
      refuse(request, `node ${quote(node)} is not allowed to set ${field}`);
  for (const [field, value] of Object.entries(now.spec ?? {}))
    if (!ownSpecAtFirst.includes(field) && !isEmpty(value))
      refuse(request, `node ${quote(node)} is not allowed to set ${field}`);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

function checkUpdate(request: AdmissionRequest, node: string, now: Node, old: Node | undefined): void {
  for (const field of othersMeta)
    if (!same(now.metadata?.[field] ?? [], old?.metadata?.[field] ?? []))
      refuse(request, `node ${quote(node)} is not allowed to modify ${field}`);
  const bad = changedLabels(now, old).filter(isForbiddenLabel);
  if (bad.length > 0) refuse(request, `is not allowed to modify labels: ${bad.join(', ')}`);
  const before: Readonly<Record<string, unknown>> = { ...old?.spec };
  const after: Readonly<Record<string, unknown>> = { ...now.spec };
  // Old kubelets leave it out when they write their status.
  if (after['configSource'] !== undefined && !same(before['configSource'], after['configSource']))
    refuse(
      request,
      `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`,
    );
  // Also taints that keep pods away: the first ones are set when it registers.
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (!ownSpec.includes(field) && !same(before[field], after[field]))
      refuse(request, `node ${quote(node)} is not allowed to modify ${field}`);
}

/** Each node that registers asks for those of all others: they are read once of each state of a node. */
const knownIps = new WeakMap<Node, readonly string[]>();

function ipsOf(node: Node | undefined): readonly string[] {
  if (node === undefined) return [];
  const known = knownIps.get(node);
  if (known !== undefined) return known;
  const ips = (node.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
    .map(({ address }) => comparableIp(address));
  knownIps.set(node, ips);
  return ips;
}

/** Nobody speaks for it any more: its address may be another's by now. */
const isGone = ({ status }: Node): boolean =>
  (status?.conditions ?? []).some((c) => c.type === 'Ready' && c.status === 'Unknown');

/** Whoever has an address gets the API server's requests, and certificates, for it: it is the node's that said it first. */
function checkAddresses(
  request: AdmissionRequest,
  node: string,
  now: Node,
  old: Node | undefined,
  all: () => readonly Node[],
): void {
  const before = ipsOf(old);
  // A loopback address leads nowhere else than to whoever asks.
  const added = ipsOf(now).filter((ip) => !before.includes(ip) && !ip.startsWith('127.') && ip !== '::1');
  if (added.length === 0) return;
  for (const other of all()) {
    const taken = ipsOf(other).find((ip) => added.includes(ip));
    if (taken !== undefined && other.metadata?.name !== node && !isGone(other))
      refuse(
        request,
        `node ${quote(node)} is not allowed to set address ${taken}, which node ${quote(other.metadata?.name ?? '')} has`,
      );
  }
}

export function checkOwnNode(request: AdmissionRequest, node: string, all: () => readonly Node[]): void {
  if (request.name !== node)
    refuse(request, `node ${quote(node)} is not allowed to modify node ${quote(request.name)}`);
  const now = requested(request, nodes) ?? requested(request, nodes, 'status');
  if (now === undefined) return;
  const old = request.operation === 'CREATE' ? undefined : previous(request, nodes);
  if (request.operation === 'CREATE') checkCreate(request, node, now);
  else checkUpdate(request, node, now, old);
  checkAddresses(request, node, now, old, all);
}
