// Flags of upstream's servers that this one does not have: what asks for what is so anyway is taken, another is refused with the reason.
import { type Command, InvalidArgumentError, Option } from 'commander';

interface Absent {
  /** Why no other value can be had. */
  readonly why: string;
  /** What is so here: as upstream's programs and kubeadm write it. */
  readonly so?: readonly string[];
}

const each = (why: string, ...flags: readonly string[]): (readonly [string, Absent])[] =>
  flags.map((flag) => [flag, { why }]);
const always = (flag: string, why: string, ...so: readonly string[]): readonly [string, Absent] => [
  flag,
  { why, so },
];

const etcd = 'there is no etcd: this server keeps its objects in SQLite below --data-dir';
const serving =
  'the server keeps its own serving certificate below --data-dir: --extra-san adds names to it, --tls-cert-file and --tls-sni-cert-key name others';
const cache = 'the cache holds every object, and has no sizes';
const logs = 'logs have one form: --log-level says how much is logged';
const release = 'this server is of one release of Kubernetes, and acts as no other';
const tls = 'TLS is 1.2 or newer, with the suites of Node.js';
const notYet = 'not supported yet';
const fixed = 'this cannot be changed';

/** All of 1.36 but those that `server` has. */
const absent: ReadonlyMap<string, Absent> = new Map([
  ...each(
    etcd,
    ...['etcd-cafile', 'etcd-certfile', 'etcd-keyfile', 'etcd-prefix', 'etcd-servers-overrides'],
    ...['etcd-compaction-interval', 'etcd-count-metric-poll-period', 'etcd-db-metric-poll-interval'],
    ...['etcd-healthcheck-timeout', 'etcd-readycheck-timeout', 'lease-reuse-duration-seconds'],
    ...['storage-backend', 'storage-initialization-timeout'],
  ),
  always('storage-media-type', 'objects are stored as JSON', 'application/json'),
  ...each(serving, 'cert-dir', 'external-hostname'),
  ...each(tls, 'tls-cipher-suites', 'tls-curve-preferences'),
  always('tls-min-version', tls, 'VersionTLS12'),
  always(
    'kubelet-preferred-address-types',
    'addresses of nodes are tried in the order InternalIP, ExternalIP, Hostname',
    'InternalIP,ExternalIP,Hostname',
  ),
  ...each(
    fixed,
    'kubelet-port',
    'kubelet-read-only-port',
    'kubelet-timeout',
    'min-request-timeout',
    'livez-grace-period',
    'delete-collection-workers',
  ),
  ...each(fixed, 'http2-max-streams-per-connection', 'endpoint-reconciler-type'),
  always('apiserver-count', 'how many servers there are is not said by a flag', '1'),
  always('request-timeout', 'a request has a minute', '1m', '1m0s', '60s'),
  ...each(cache, 'default-watch-cache-size', 'watch-cache-sizes'),
  always('watch-cache', 'everything is read from a cache', 'true'),
  always('allow-privileged', 'what pods may is said by PodSecurity and by policies of admission', 'true'),
  always('enable-garbage-collector', 'owners are followed always', 'true'),
  always(
    'enable-priority-and-fairness',
    'requests wait in the queues of their priority levels always',
    'true',
  ),
  always('aggregator-reject-forwarding-redirect', 'nobody is sent elsewhere by another server', 'true'),
  always('disable-http2-serving', 'HTTP/2 is served always', 'false'),
  always('profiling', 'there are no profiles of Go', 'false'),
  always('contention-profiling', 'there are no profiles of Go', 'false'),
  always('enable-logs-handler', 'there is no /logs', 'false'),
  always('permit-address-sharing', "the port is this server's alone", 'false'),
  always('permit-port-sharing', "the port is this server's alone", 'false'),
  always('goaway-chance', 'connections are never sent away', '0'),
  always('shutdown-delay-duration', 'the end is never put off', '0', '0s'),
  always('shutdown-watch-termination-grace-period', 'watches end with the server', '0', '0s'),
  always('shutdown-send-retry-after', 'requests at the end are not sent away', 'false'),
  ...each(logs, 'v', 'vmodule', 'logging-format', 'log-flush-frequency'),
  ...each(logs, 'log-json-info-buffer-size', 'log-json-split-stream'),
  ...each(logs, 'log-text-info-buffer-size', 'log-text-split-stream'),
  ...each(release, 'emulated-version', 'emulation-forward-compatible', 'min-compatibility-version'),
  ...each(release, 'runtime-config-emulation-forward-compatible', 'show-hidden-metrics-for-version'),
  ...each(notYet, 'egress-selector-config-file', 'tracing-config-file'),
  ...each(notYet, 'cors-allowed-origins', 'strict-transport-security-directives', 'debug-socket-path'),
  ...each(notYet, 'allow-metric-labels', 'allow-metric-labels-manifest', 'disabled-metrics'),
  ...each(notYet, 'peer-ca-file', 'peer-advertise-ip', 'peer-advertise-port'),
  ...each(notYet, 'coordinated-leadership-lease-duration', 'coordinated-leadership-renew-deadline'),
  ...each(notYet, 'coordinated-leadership-retry-period'),
]);

const optionOf = (flag: string, { why, so = [] }: Absent): Option =>
  new Option(`--${flag} [value]`, why)
    .preset('true')
    .argParser((value) => {
      if (!so.includes(value)) throw new InvalidArgumentError(why);
      return value;
    })
    .hideHelp();

/** Help shows none of them. */
const withAll = (command: Command, flags: ReadonlyMap<string, Absent>): Command =>
  [...flags].reduce((all, [flag, one]) => all.addOption(optionOf(flag, one)), command);

/** Those of kube-apiserver. */
export const withAbsent = (command: Command): Command => withAll(command, absent);

const noClient = 'the controllers run in this process, and are its clients by themselves';
const ownAuthority = 'certificates are signed by the authority of this cluster, below --data-dir';
const noCloud = 'there is no cloud';
const byEvents = 'what changes is looked at when it changes, and no sooner or later';
const recycler = 'no volume is scrubbed: the policy Recycle is refused';

/** All of kube-controller-manager 1.36 but those that `server` has, also for the API server. */
const absentOfControllers: ReadonlyMap<string, Absent> = new Map([
  ...each(noClient, 'kubeconfig', 'master', 'authentication-kubeconfig', 'authorization-kubeconfig'),
  ...each(noClient, 'kube-api-burst', 'kube-api-qps', 'kube-api-content-type'),
  ...each(noClient, 'authentication-skip-lookup', 'authentication-tolerate-lookup-failure'),
  ...each(noClient, 'authorization-always-allow-paths', 'kube-api-accept-content-types'),
  ...each(
    ownAuthority,
    ...['cluster-signing-cert-file', 'cluster-signing-key-file'],
    ...['kube-apiserver-client', 'kubelet-client', 'kubelet-serving', 'legacy-unknown'].flatMap((signer) => [
      `cluster-signing-${signer}-cert-file`,
      `cluster-signing-${signer}-key-file`,
    ]),
  ),
  ...each(
    'give it to --service-account-signing-key-file: one process signs all tokens',
    'service-account-private-key-file',
  ),
  always('use-service-account-credentials', 'each controller acts as its own account always', 'true'),
  always('allocate-node-cidrs', 'nodes get their blocks of pod addresses here always', 'true'),
  always('cidr-allocator-type', noCloud, 'RangeAllocator'),
  always('configure-cloud-routes', noCloud, 'false'),
  always('cloud-provider', noCloud, '', 'external'),
  ...each(noCloud, 'cloud-config', 'external-cloud-volume-plugin', 'route-reconciliation-period'),
  ...each(noCloud, 'node-sync-period', 'concurrent-service-syncs', 'allow-untagged-cloud'),
  always('enable-dynamic-provisioning', 'volumes are made for claims always', 'true'),
  always('enable-hostpath-provisioner', 'the default storage class keeps directories of nodes', 'false'),
  ...each(
    'no volume has to be attached to a node',
    'attach-detach-reconcile-sync-period',
    'disable-attach-detach-reconcile-sync',
    'disable-force-detach-on-timeout',
  ),
  ...each('there are no FlexVolumes', 'flex-volume-plugin-dir'),
  ...each(
    recycler,
    'pv-recycler-increment-timeout-nfs',
    'pv-recycler-minimum-timeout-hostpath',
    'pv-recycler-minimum-timeout-nfs',
    'pv-recycler-pod-template-filepath-hostpath',
    'pv-recycler-pod-template-filepath-nfs',
    'pv-recycler-timeout-increment-hostpath',
  ),
  ...each(byEvents, 'min-resync-period', 'namespace-sync-period', 'resource-quota-sync-period'),
  ...each(byEvents, 'pvclaimbinder-sync-period', 'controller-start-interval'),
  ...each(byEvents, 'endpoint-updates-batch-period', 'endpointslice-updates-batch-period'),
  ...each(byEvents, 'mirroring-endpointslice-updates-batch-period'),
  always('max-endpoints-per-slice', 'a slice holds a hundred endpoints', '100'),
  always('mirroring-max-endpoints-per-subset', 'a thousand endpoints of a subset are mirrored', '1000'),
  always('leader-elect-resource-lock', 'who leads is said by Leases', 'leases'),
  always('leader-elect-resource-namespace', 'the Leases lie in kube-system', 'kube-system'),
  ...each(
    'the Leases have the names of upstream: kube-controller-manager, kube-scheduler',
    'leader-elect-resource-name',
  ),
  always('enable-leader-migration', noCloud, 'false'),
  ...each(noCloud, 'leader-migration-config'),
  always(
    'concurrent-validating-admission-policy-status-syncs',
    'the API server itself keeps the status of its policies',
    '5',
  ),
]);

/** Those of kube-controller-manager that no other section has. */
export const withAbsentOfControllers = (command: Command): Command => {
  const taken = new Set(command.options.map(({ long }) => long));
  return withAll(command, new Map([...absentOfControllers].filter(([flag]) => !taken.has(`--${flag}`))));
};
