// The controllers of kube-controller-manager 1.36, by their names and those that they had before, and which of them does not run here.

interface UpstreamController {
  readonly name: string;
  /** What `--controllers` called it before 1.28. */
  readonly former?: string;
  /** Why it does not run here; what it does is done elsewhere, or upstream leaves it off as well. */
  readonly absent?: string;
}

const cloud = 'there is no cloud';
const gate = (name: string): string => `upstream leaves its feature gate ${name} off`;

export const upstreamControllers: readonly UpstreamController[] = [
  { name: 'bootstrap-signer-controller', former: 'bootstrapsigner' },
  { name: 'certificatesigningrequest-approving-controller', former: 'csrapproving' },
  { name: 'certificatesigningrequest-cleaner-controller', former: 'csrcleaner' },
  { name: 'certificatesigningrequest-signing-controller', former: 'csrsigning' },
  { name: 'cloud-node-lifecycle-controller', former: 'cloud-node-lifecycle', absent: cloud },
  { name: 'clusterrole-aggregation-controller', former: 'clusterrole-aggregation' },
  { name: 'cronjob-controller', former: 'cronjob' },
  { name: 'daemonset-controller', former: 'daemonset' },
  { name: 'deployment-controller', former: 'deployment' },
  { name: 'device-taint-eviction-controller', absent: 'not supported yet: no driver taints devices here' },
  { name: 'disruption-controller', former: 'disruption' },
  { name: 'endpoints-controller', former: 'endpoint' },
  { name: 'endpointslice-controller', former: 'endpointslice' },
  { name: 'endpointslice-mirroring-controller', former: 'endpointslicemirroring' },
  { name: 'ephemeral-volume-controller', former: 'ephemeral-volume' },
  { name: 'garbage-collector-controller', former: 'garbagecollector' },
  { name: 'horizontal-pod-autoscaler-controller', former: 'horizontalpodautoscaling' },
  { name: 'job-controller', former: 'job' },
  {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    absent: gate('ClusterTrustBundle'),
  },
  {
    name: 'legacy-serviceaccount-token-cleaner-controller',
    former: 'legacy-service-account-token-cleaner',
  },
  { name: 'namespace-controller', former: 'namespace' },
  { name: 'node-ipam-controller', former: 'nodeipam' },
  { name: 'node-lifecycle-controller', former: 'nodelifecycle' },
  { name: 'node-route-controller', former: 'route', absent: cloud },
  {
    name: 'persistentvolume-attach-detach-controller',
    former: 'attachdetach',
    absent: 'not supported yet: no volume has to be attached to a node',
  },
  { name: 'persistentvolume-binder-controller', former: 'persistentvolume-binder' },
  { name: 'persistentvolume-expander-controller', former: 'persistentvolume-expander' },
  { name: 'persistentvolume-protection-controller', former: 'pv-protection' },
  { name: 'persistentvolumeclaim-protection-controller', former: 'pvc-protection' },
  { name: 'pod-garbage-collector-controller', former: 'podgc' },
  { name: 'podcertificaterequest-cleaner-controller', absent: gate('PodCertificateRequest') },
  { name: 'podgroup-protection-controller', absent: gate('GenericWorkload') },
  { name: 'replicaset-controller', former: 'replicaset' },
  { name: 'replicationcontroller-controller', former: 'replicationcontroller' },
  { name: 'resourceclaim-controller', former: 'resource-claim-controller' },
  { name: 'resourcepoolstatusrequest-controller', absent: gate('DRAResourcePoolStatus') },
  { name: 'resourcequota-controller', former: 'resourcequota' },
  { name: 'root-ca-certificate-publisher-controller', former: 'root-ca-cert-publisher' },
  { name: 'selinux-warning-controller', absent: 'upstream has it off by default; no node here has SELinux' },
  { name: 'service-cidr-controller' },
  { name: 'service-lb-controller', former: 'service' },
  { name: 'serviceaccount-controller', former: 'serviceaccount' },
  { name: 'serviceaccount-token-controller', former: 'serviceaccount-token' },
  { name: 'statefulset-controller', former: 'statefulset' },
  { name: 'storage-version-migrator-controller' },
  {
    name: 'storageversion-garbage-collector-controller',
    former: 'storage-version-gc',
    absent: gate('StorageVersionAPI'),
  },
  { name: 'taint-eviction-controller' },
  { name: 'token-cleaner-controller', former: 'tokencleaner' },
  { name: 'ttl-after-finished-controller', former: 'ttl-after-finished' },
  { name: 'ttl-controller', former: 'ttl' },
  {
    name: 'validatingadmissionpolicy-status-controller',
    absent: 'the API server itself keeps the status of its policies',
  },
  { name: 'volumeattributesclass-protection-controller' },
];

/** Ours beside upstream's. */
export const ownControllers: readonly string[] = ['local-path-controller'];

const known: ReadonlyMap<string, UpstreamController> = new Map(
  [...upstreamControllers, ...ownControllers.map((name): UpstreamController => ({ name }))].flatMap((one) => [
    [one.name, one],
    ...(one.former === undefined ? [] : [[one.former, one] as const]),
  ]),
);

/**
 * Names of those that are not to run, by a list as of upstream's `--controllers`: `*` are all, `name` is one, `-name` is
 * none. Throws Error for a name that is none, and for one that can't run here.
 */
export function disabledControllers(asked: readonly string[]): string[] {
  const choices = new Map<string, boolean>();
  for (const text of asked) {
    if (text === '*') continue;
    const isWanted = !text.startsWith('-');
    const title = isWanted ? text : text.slice(1);
    const one = known.get(title);
    if (one === undefined) throw new Error(`'${title}' is not in the list of known controllers`);
    if (isWanted && one.absent !== undefined) throw new Error(`'${title}' does not run here: ${one.absent}`);
    // The first that is said of it counts, as upstream.
    if (!choices.has(one.name)) choices.set(one.name, isWanted);
  }
  const all = asked.length === 0 || asked.includes('*');
  return [...new Set(known.values())]
    .filter(({ name, absent }) => absent === undefined && !(choices.get(name) ?? all))
    .map(({ name }) => name);
}
