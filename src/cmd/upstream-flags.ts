// Flags of kube-apiserver that this server does not have: one that asks for what is so anyway is taken, another is refused with the reason.
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
export const withAbsent = (command: Command): Command =>
  [...absent].reduce((all, [flag, one]) => all.addOption(optionOf(flag, one)), command);
