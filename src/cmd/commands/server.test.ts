// What `porthole server` refuses before it starts, and what its help says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { auditFlagsOf } from '../audit-options.ts';
import { serverCommand } from './server.ts';

const quiet = (): Command =>
  serverCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
const flags = ['--data-dir', '/nonexistent/porthole', '--secure-port', '0'];

test('names that are none are refused with those there are', async () => {
  const rows: [string[], RegExp][] = [
    [['--disable', 'dns,foo'], /'dns,foo' is invalid\. "foo": there are dns, scheduler, controllers\./],
    [['--log-level', 'x'], /Allowed choices are debug, info, warn, error, silent\./],
    [['--advertise-address', 'db'], /^--advertise-address "db" is no IP address$/],
    [['--advertise-address', 'fd00::7'], /^--advertise-address fd00::7 is of IPv6: nodes and pods/],
    [['--feature-gates', 'A=true'], /^unrecognized feature gate: A$/],
    [['--runtime-config', 'apps/v7'], /^group version apps\/v7 that has not been registered$/],
    [['--enable-aggregator-routing', 'false'], /Allowed choices are true\./],
    [['--bind-address', 'nonsense'], /^--bind-address "nonsense" is no IP address; this machine has /],
  ];
  for (const [more, message] of rows)
    await assert.rejects(quiet().parseAsync([...flags, ...more], { from: 'user' }), { message });
});

/** What kubeadm writes into its manifest, but for addresses and what this server has by the same name. */
const ofKubeadm = [
  '--allow-privileged=true',
  '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--enable-bootstrap-token-auth=true',
  '--requestheader-allowed-names=front-proxy-client',
  '--requestheader-group-headers=X-Remote-Group',
  '--profiling=false',
  '--request-timeout=1m0s',
  '--tls-min-version=VersionTLS12',
  '--apiserver-count=1',
  '--default-not-ready-toleration-seconds=300',
  '--default-unreachable-toleration-seconds=300',
];

test("flags of kube-apiserver's that ask for what is so are taken, others are refused with the reason", () => {
  const parse = (...more: string[]): Command =>
    quiet()
      .action(() => {})
      .parse([...flags, ...more], { from: 'user' });
  assert.doesNotThrow(() => parse(...ofKubeadm));
  const rows: [string, RegExp][] = [
    ['--allow-privileged=false', /argument 'false' is invalid\. what pods may is said by PodSecurity/],
    ['--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt', /there is no etcd: .* SQLite below --data-dir$/],
    ['--cert-dir=/etc/kubernetes/pki', /its own serving certificate below --data-dir: --extra-san/],
    ['--tls-sni-cert-key=a.crt', /expected comma separated certificate and key file paths$/],
    ['--tls-sni-cert-key=a.crt,a.key:', /empty names list is not allowed$/],
    ['--profiling', /there are no profiles of Go$/],
    ['--egress-selector-config-file=/x', /not supported yet$/],
    ['--v=2', /--log-level says how much is logged$/],
    ['--request-timeout=2m', /a request has a minute$/],
    ['--apiserver-count=3', /how many servers there are is not said by a flag$/],
    ['--default-not-ready-toleration-seconds=1m', /argument '1m' is invalid\. not a whole number$/],
  ];
  for (const [flag, message] of rows) assert.throws(() => parse(flag), { message });
});

/** What kubeadm writes into its manifest of kube-controller-manager, but for files. */
const ofKubeadmsControllers = [
  '--allocate-node-cidrs=true',
  '--controllers=*,bootstrapsigner,tokencleaner',
  '--leader-elect=true',
  '--use-service-account-credentials=true',
];

test("flags of kube-controller-manager's are taken, or refused with the reason", () => {
  const parse = (...more: string[]): Command =>
    quiet()
      .action(() => {})
      .parse([...flags, ...more], { from: 'user' });
  assert.doesNotThrow(() => parse(...ofKubeadmsControllers));
  const rows: [string, RegExp][] = [
    ['--controllers=*,jobs', /'jobs' is not in the list of known controllers$/],
    ['--controllers=*,node-route-controller', /does not run here: there is no cloud$/],
    ['--concurrent-job-syncs=0', /not a number from 1 to 1000$/],
    ['--use-service-account-credentials=false', /each controller acts as its own account always$/],
    ['--kubeconfig=/etc/kubernetes/controller-manager.conf', /the controllers run in this process/],
    ['--cluster-signing-key-file=/x', /signed by the authority of this cluster/],
    ['--leader-elect-resource-lock=endpoints', /who leads is said by Leases$/],
    ['--terminated-pod-gc-threshold=many', /not a whole number$/],
  ];
  for (const [flag, message] of rows) assert.throws(() => parse(flag), { message });
});

test('ports of the nodes for Services may be others', () => {
  const read = (...more: string[]): unknown =>
    quiet()
      .action(() => {})
      .parse([...flags, ...more], { from: 'user' })
      .opts()['serviceNodePortRange'];
  assert.deepEqual(read('--service-node-port-range=80-90'), { first: 80, last: 90 });
  assert.deepEqual(
    [read(), read('--service-node-port-range=')],
    [undefined, { first: 30_000, last: 32_767 }],
  );
  for (const [text, why] of [
    ['90-80', /end port cannot be less than start port: 90-80$/],
    ['0-80', /no node can have port 0$/],
  ] as const)
    assert.throws(() => read(`--service-node-port-range=${text}`), { message: why });
});

test('the first wait of the audit webhook is taken by its old name, too', () => {
  const read = (...more: string[]): unknown =>
    auditFlagsOf(
      quiet()
        .action(() => {})
        .parse([...flags, '--audit-webhook-config-file=/x', ...more], { from: 'user' })
        .opts(),
    )?.webhook?.initialBackoffMs;
  assert.deepEqual([read(), read('--audit-webhook-batch-initial-backoff=3s')], [10_000, 3_000]);
});

test('help shows durations and lists as people write them, and nothing that is refused', () => {
  const help = quiet().helpInformation();
  assert.match(help, /8760h0m0s/);
  assert.doesNotMatch(help, /etcd|\[\]|31536000000/);
});

test('help shows flags in the sections in which kube-apiserver and kube-controller-manager show theirs', () => {
  const sections = new Map(
    quiet()
      .helpInformation()
      .split(/\n(?=\S[^\n]* flags:\n)/)
      .map((text) => [
        text.slice(0, text.indexOf(' flags:\n')),
        [...text.matchAll(/^ +(?:-h, )?--([a-z-]+)/gm)].map(([, flag]) => flag),
      ]),
  );
  assert.ok(!sections.has('Options'));
  assert.deepEqual([...sections.keys()].slice(1), [
    'Porthole',
    'Generic',
    'Etcd',
    'Secure serving',
    'Auditing',
    'Authentication',
    'Authorization',
    'API enablement',
    'Admission',
    'Logs',
    'Misc',
    'Controllers',
    'Leader election',
    'Certificatesigningrequest-signing-controller',
    'Cronjob-controller',
    'Daemonset-controller',
    'Deployment-controller',
    'Endpoints-controller',
    'Endpointslice-controller',
    'Endpointslice-mirroring-controller',
    'Ephemeral-volume-controller',
    'Garbage-collector-controller',
    'Horizontal-pod-autoscaler-controller',
    'Job-controller',
    'Legacy-serviceaccount-token-cleaner-controller',
    'Namespace-controller',
    'Node-ipam-controller',
    'Node-lifecycle-controller',
    'Pod-garbage-collector-controller',
    'Replicaset-controller',
    'Replicationcontroller-controller',
    'Resourceclaim-controller',
    'Resourcequota-controller',
    'Serviceaccount-token-controller',
    'Statefulset-controller',
    'Ttl-after-finished-controller',
    'Scheduler',
    'Global',
  ]);
  const rows: [string, string[]][] = [
    [
      'Generic',
      ['advertise-address', 'default-not-ready-toleration-seconds', 'feature-gates', 'max-requests-inflight'],
    ],
    ['API enablement', ['runtime-config']],
    ['Etcd', ['encryption-provider-config', 'encryption-provider-config-automatic-reload']],
    [
      'Secure serving',
      ['bind-address', 'secure-port', 'tls-cert-file', 'tls-private-key-file', 'tls-sni-cert-key'],
    ],
    ['Serviceaccount-token-controller', ['root-ca-file', 'concurrent-serviceaccount-token-syncs']],
    ['Controllers', ['controllers']],
    ['Job-controller', ['concurrent-job-syncs']],
    [
      'Authentication',
      ['enable-bootstrap-token-auth', 'oidc-issuer-url', 'client-ca-file', 'service-account-lookup'],
    ],
    [
      'Misc',
      [
        'kubelet-certificate-authority',
        'kubelet-client-certificate',
        'kubelet-client-key',
        'event-ttl',
        'proxy-client-key-file',
        'service-account-signing-key-file',
      ],
    ],
    [
      'Horizontal-pod-autoscaler-controller',
      ['horizontal-pod-autoscaler-sync-period', 'horizontal-pod-autoscaler-tolerance'],
    ],
    ['Node-lifecycle-controller', ['node-eviction-rate', 'node-monitor-grace-period']],
  ];
  for (const [section, flags] of rows)
    assert.deepEqual(
      flags.filter((flag) => !sections.get(section)?.includes(flag)),
      [],
      section,
    );
  assert.ok(sections.get('Auditing')?.every((flag) => flag?.startsWith('audit-')));
});

test('switches are on by their name alone, and take a value, as flags of Go', async () => {
  for (const flag of ['--approve-kubelet-serving', '--encryption-provider-config-automatic-reload'])
    await assert.rejects(quiet().parseAsync([...flags, `${flag}=maybe`], { from: 'user' }), {
      message: /argument 'maybe' is invalid\. true or false$/,
    });
  const read = (...more: string[]): unknown => {
    const command = quiet().action(() => {});
    return command.parse([...flags, ...more], { from: 'user' }).opts()['approveKubeletServing'];
  };
  assert.deepEqual(
    [read(), read('--approve-kubelet-serving'), read('--approve-kubelet-serving=false')],
    [false, true, false],
  );
});
