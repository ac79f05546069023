// Versions that Kubernetes has removed, and what took their place: old manifests get an answer that helps.
import type { GroupVersionKind } from '../apimachinery/declaration.ts';

export interface RemovedVersion extends GroupVersionKind {
  /** `1.16`: the first release without it. */
  readonly removedIn: string;
  /** undefined when nothing replaces it. */
  readonly replacement?: GroupVersionKind;
}

const row = (apiVersion: string, kinds: string, removedIn: string, by?: string): RemovedVersion[] => {
  const [group, version] = split(apiVersion);
  return kinds.split(' ').map((kind) => ({
    group,
    version,
    kind,
    removedIn,
    ...(by === undefined ? {} : { replacement: replaced(by, kind) }),
  }));
};
const split = (apiVersion: string): [string, string] => {
  const [group, version] = apiVersion.split('/');
  return version === undefined ? ['', group!] : [group!, version];
};
const replaced = (by: string, kind: string): GroupVersionKind => {
  const [group, version] = split(by);
  return { group, version, kind };
};

export const removedVersions: readonly RemovedVersion[] = [
  ...row('extensions/v1beta1', 'DaemonSet Deployment ReplicaSet', '1.16', 'apps/v1'),
  ...row('extensions/v1beta1', 'NetworkPolicy', '1.16', 'networking.k8s.io/v1'),
  ...row('extensions/v1beta1', 'Ingress', '1.22', 'networking.k8s.io/v1'),
  ...row('extensions/v1beta1', 'PodSecurityPolicy', '1.16'),
  ...row('apps/v1beta1', 'Deployment StatefulSet ControllerRevision', '1.16', 'apps/v1'),
  ...row('apps/v1beta2', 'DaemonSet Deployment ReplicaSet StatefulSet ControllerRevision', '1.16', 'apps/v1'),
  ...row('networking.k8s.io/v1beta1', 'Ingress IngressClass', '1.22', 'networking.k8s.io/v1'),
  ...row(
    'rbac.authorization.k8s.io/v1alpha1',
    'ClusterRole ClusterRoleBinding Role RoleBinding',
    '1.22',
    'rbac.authorization.k8s.io/v1',
  ),
  ...row(
    'rbac.authorization.k8s.io/v1beta1',
    'ClusterRole ClusterRoleBinding Role RoleBinding',
    '1.22',
    'rbac.authorization.k8s.io/v1',
  ),
  ...row('apiextensions.k8s.io/v1beta1', 'CustomResourceDefinition', '1.22', 'apiextensions.k8s.io/v1'),
  ...row(
    'admissionregistration.k8s.io/v1beta1',
    'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    '1.22',
    'admissionregistration.k8s.io/v1',
  ),
  ...row('apiregistration.k8s.io/v1beta1', 'APIService', '1.22', 'apiregistration.k8s.io/v1'),
  ...row('authentication.k8s.io/v1beta1', 'TokenReview', '1.22', 'authentication.k8s.io/v1'),
  ...row(
    'authorization.k8s.io/v1beta1',
    'LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview SelfSubjectRulesReview',
    '1.22',
    'authorization.k8s.io/v1',
  ),
  ...row('certificates.k8s.io/v1beta1', 'CertificateSigningRequest', '1.22', 'certificates.k8s.io/v1'),
  ...row('coordination.k8s.io/v1beta1', 'Lease', '1.22', 'coordination.k8s.io/v1'),
  ...row('scheduling.k8s.io/v1beta1', 'PriorityClass', '1.22', 'scheduling.k8s.io/v1'),
  ...row(
    'storage.k8s.io/v1beta1',
    'CSIDriver CSINode StorageClass VolumeAttachment',
    '1.22',
    'storage.k8s.io/v1',
  ),
  ...row('storage.k8s.io/v1beta1', 'CSIStorageCapacity', '1.27', 'storage.k8s.io/v1'),
  ...row('batch/v1beta1', 'CronJob', '1.25', 'batch/v1'),
  ...row('batch/v2alpha1', 'CronJob', '1.21', 'batch/v1'),
  ...row('discovery.k8s.io/v1beta1', 'EndpointSlice', '1.25', 'discovery.k8s.io/v1'),
  ...row('events.k8s.io/v1beta1', 'Event', '1.25', 'events.k8s.io/v1'),
  ...row('policy/v1beta1', 'PodDisruptionBudget Eviction', '1.25', 'policy/v1'),
  ...row('policy/v1beta1', 'PodSecurityPolicy', '1.25'),
  ...row('node.k8s.io/v1beta1', 'RuntimeClass', '1.25', 'node.k8s.io/v1'),
  ...row('autoscaling/v2beta1', 'HorizontalPodAutoscaler', '1.25', 'autoscaling/v2'),
  ...row('autoscaling/v2beta2', 'HorizontalPodAutoscaler', '1.26', 'autoscaling/v2'),
  ...row(
    'flowcontrol.apiserver.k8s.io/v1beta1',
    'FlowSchema PriorityLevelConfiguration',
    '1.26',
    'flowcontrol.apiserver.k8s.io/v1',
  ),
  ...row(
    'flowcontrol.apiserver.k8s.io/v1beta2',
    'FlowSchema PriorityLevelConfiguration',
    '1.29',
    'flowcontrol.apiserver.k8s.io/v1',
  ),
  ...row(
    'flowcontrol.apiserver.k8s.io/v1beta3',
    'FlowSchema PriorityLevelConfiguration',
    '1.32',
    'flowcontrol.apiserver.k8s.io/v1',
  ),
];

const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase();
  if (word.endsWith('y')) return `${word.slice(0, -1)}ies`;
  return word.endsWith('s') ? `${word}es` : `${word}s`;
};
const byResource = new Map(removedVersions.map((r) => [`${r.group}/${r.version}/${pluralOf(r.kind)}`, r]));

/** The sentence on a removed resource (`daemonsets`), as a server of today answers a request for it. */
export function removedResource(group: string, version: string, resource: string): string | undefined {
  const removed = byResource.get(`${group}/${version}/${resource}`);
  return removed && removedVersionSentence(removed);
}

/** `extensions/v1beta1 is served no more: use apps/v1 for DaemonSet, Deployment, ReplicaSet; …`, by group and version. */
export const removedGroupVersions: ReadonlyMap<string, string> = new Map(
  [...new Set(removedVersions.map(groupVersionText))].map((groupVersion) => [
    groupVersion,
    groupVersionSentence(groupVersion),
  ]),
);

function groupVersionText({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

function groupVersionSentence(groupVersion: string): string {
  const kinds = new Map<string, string[]>();
  for (const removed of removedVersions) {
    if (groupVersionText(removed) !== groupVersion) continue;
    const { replacement } = removed;
    const advice = replacement ? `use ${groupVersionText(replacement)} for` : 'nothing replaces';
    kinds.set(advice, [...(kinds.get(advice) ?? []), removed.kind]);
  }
  const advices = [...kinds].map(([advice, names]) => `${advice} ${names.join(', ')}`);
  return `${groupVersion} is served no more: ${advices.join('; ')}`;
}

/** `extensions/v1beta1 DaemonSet was removed in Kubernetes 1.16; use apps/v1 DaemonSet`. */
function removedVersionSentence(removed: RemovedVersion): string {
  const name = (g: GroupVersionKind): string =>
    `${g.group === '' ? g.version : `${g.group}/${g.version}`} ${g.kind}`;
  const fact = `${name(removed)} was removed in Kubernetes ${removed.removedIn}`;
  return removed.replacement ? `${fact}; use ${name(removed.replacement)}` : `${fact}; nothing replaces it`;
}
