// `up --extra-config`: flags of the server and of kubelets through `up`, kept through `down --keep`, refused before anything is made.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { isAlive } from '../../src/cmd/cluster/own-processes.ts';
import { endSupervisor } from '../../src/cmd/supervisor/supervise-cluster.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const name = 'extra';
const scratch = scratchDirectory('extra');
const paths = clusterPaths(scratch.path, name);
const auditLog = join(scratch.path, 'audit', 'audit.log');
const file = (base: string, text: string): string => {
  const path = join(scratch.path, base);
  writeFileSync(path, text);
  return path;
};
const policy = file(
  'policy.yaml',
  'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata, resources: [{group: "", resources: [configmaps]}]}\n- {level: None}\n',
);
const keys = file(
  'keys.yaml',
  `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: one, secret: ${Buffer.alloc(32, 7).toString('base64')}}]}\n  - identity: {}\n`,
);
const extra = (...texts: string[]): string[] => texts.flatMap((text) => ['--extra-config', text]);
const simulated = ['--runtime', 'simulated', '--linux', '1', '--windows', '0', '--no-merge'];
let cluster: TestCluster;

before(async () => {
  cluster = await startTestCluster({
    name,
    home: scratch.path,
    runtime: 'simulated',
    arguments: [
      '--no-merge',
      ...extra(
        `apiserver.audit-policy-file=${policy}`,
        `apiserver.audit-log-path=${auditLog}`,
        `apiserver.encryption-provider-config=${keys}`,
        'apiserver.enable-admission-plugins=AlwaysPullImages',
        'apiserver.anonymous-auth=false',
        'apiserver.service-node-port-range=80-90',
        'controller-manager.node-eviction-rate=0.5',
        'kubelet.kube-reserved=cpu=250m,memory=256Mi',
      ),
    ],
  });
}, limit);
after(async () => {
  await cluster?.porthole(['down', '--name', name]);
  scratch.remove();
}, limit);

const audited = (map: string): boolean =>
  readFileSync(auditLog, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { verb: string; objectRef: { name?: string } })
    .some(({ verb, objectRef }) => verb === 'create' && objectRef.name === map);

/** Whatever the store has on disk. */
const stored = (): Buffer =>
  Buffer.concat(
    readdirSync(paths.server, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  );

/** What becomes of IfNotPresent. */
async function pullPolicyOf(pod: string): Promise<string> {
  await cluster.kubectl.ok([
    'run',
    pod,
    '--image=registry.example/some:1',
    '--image-pull-policy=IfNotPresent',
  ]);
  return cluster.kubectl.ok(['get', 'pod', pod, '-o', 'jsonpath={.spec.containers[0].imagePullPolicy}']);
}

/** A port of the nodes is one that the flag names, whether it is asked for or chosen; no other is. */
async function portsHold(service: string, asked: number): Promise<void> {
  const expose = ['create', 'service', 'nodeport', service, '--tcp=80'];
  const portOf = (name: string): Promise<string> =>
    cluster.kubectl.ok(['get', 'service', name, '-o', 'jsonpath={.spec.ports[0].nodePort}']);
  await cluster.kubectl.ok([...expose, `--node-port=${asked}`]);
  assert.equal(await portOf(service), String(asked));
  await cluster.kubectl.ok(['create', 'service', 'nodeport', `${service}-any`, '--tcp=80']);
  assert.match(await portOf(`${service}-any`), /^(8[0-9]|90)$/);
  const { stderr } = await cluster.kubectl.run([...expose, '--node-port=30000', '--dry-run=server']);
  assert.match(stderr, /provided port is not in the valid range\. The range of valid ports is 80-90/);
}

async function flagsHold(map: string): Promise<void> {
  await cluster.kubectl.ok(['create', 'configmap', map]);
  await eventually(() => assert.ok(audited(map)), { timeoutMs: 20_000 });
  assert.equal(await pullPolicyOf(map), 'Always');
  await cluster.kubectl.ok(['create', 'secret', 'generic', map, `--from-literal=a=plain-${map}-text`]);
  await cluster.kubectl.ok(['create', 'configmap', `${map}-told`, `--from-literal=a=told-${map}-text`]);
  const text = stored();
  assert.ok(text.includes(`told-${map}-text`), 'what is not sealed is found');
  const value = Buffer.from(`plain-${map}-text`).toString('base64');
  assert.ok(!text.includes(value.slice(0, -4)), 'a Secret lies sealed');
  assert.ok(text.includes('k8s:enc:aescbc:v1:one:'));
}

test(
  'audit log, sealed Secrets, an admission plugin, ports of nodes and reserved CPU are as the flags say',
  limit,
  async () => {
    await flagsHold('first');
    await portsHold('first', 80);
    const node = await cluster.kubectl.json<{
      status: { capacity: { cpu: string }; allocatable: { cpu: string } };
    }>(['get', 'node', 'linux-1']);
    assert.equal(node.status.allocatable.cpu, `${Number(node.status.capacity.cpu) * 1000 - 250}m`);
  },
);

test(
  'the supervisor takes a server that lets nobody in without a name for one that lives',
  limit,
  async () => {
    await eventually(
      async () => {
        const { stdout } = await cluster.porthole(['status', '--name', name]);
        assert.doesNotMatch(stdout, /not answer|silent|restart/);
      },
      { timeoutMs: 30_000 },
    );
    // It may not have been asked for the first time yet.
    await eventually(() => {
      const state = JSON.parse(readFileSync(join(paths.root, 'supervisor.json'), 'utf8')) as {
        processes: { role: string; answered?: boolean; restarts: number }[];
      };
      const server = state.processes.find(({ role }) => role === 'server');
      assert.deepEqual([server?.answered, server?.restarts], [true, 0]);
    });
  },
);

test('down --keep and up keep them; the next up changes one and forgets another', limit, async () => {
  const kept = await cluster.porthole(['down', '--name', name, '--keep']);
  assert.equal(kept.code, 0, kept.stderr);
  const again = await cluster.porthole(['up', '--name', name, ...simulated]);
  assert.equal(again.code, 0, again.stderr);
  await flagsHold('second');
  await cluster.kubectl.ok(['get', 'secret', 'first']);

  const changed = await cluster.porthole([
    ...['up', '--name', name, ...simulated],
    ...extra('apiserver.enable-admission-plugins-', 'apiserver.audit-log-format=legacy'),
  ]);
  assert.equal(changed.code, 0, changed.stderr);
  assert.match(
    changed.stderr,
    /--extra-config counts from the next start on: porthole down --name extra --keep/,
  );
  const said = await cluster.porthole([
    ...['up', '--name', name, ...simulated],
    ...extra('apiserver.audit-log-format=legacy'),
  ]);
  assert.equal(said.code, 0, said.stderr);
  assert.doesNotMatch(said.stderr, /counts from the next start/, 'it was said before');
  await cluster.porthole(['down', '--name', name, '--keep']);
  const third = await cluster.porthole(['up', '--name', name, ...simulated]);
  assert.equal(third.code, 0, third.stderr);
  assert.equal(await pullPolicyOf('third'), 'IfNotPresent');
});

test('where nothing runs any more, as after a reboot, they count at once', limit, async () => {
  await endSupervisor(paths.root, 10_000);
  const { processes } = readClusterState(paths)!;
  for (const { pid } of processes.filter(isAlive)) process.kill(pid, 'SIGKILL');
  await eventually(() => assert.deepEqual(processes.filter(isAlive), []));
  const { code, stderr } = await cluster.porthole([
    ...['up', '--name', name, ...simulated],
    ...extra('apiserver.enable-admission-plugins=AlwaysPullImages'),
  ]);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /counts from the next start/);
  assert.equal(await pullPolicyOf('fourth'), 'Always');
});

test('a flag or a file that is wrong is an error of up, and nothing is made', limit, async () => {
  const rows: [string[], RegExp][] = [
    [['apiserver.audit-polcy-file=x'], /unknown option '--audit-polcy-file/],
    [['apiserver.audit-log-maxage=many'], /argument 'many' is invalid\. not a whole number/],
    [[`apiserver.audit-policy-file=${keys}`], /loading audit policy file: /],
    [['apiserver.audit-policy-file=missing.yaml'], /failed to read file path ".*\/missing\.yaml"/],
    [['apiserver.enable-admission-plugins=Nobody'], /enable-admission-plugins plugin "Nobody" is unknown/],
    [['apiserver.data-dir=/tmp'], /porthole up decides it itself/],
    [['kubelet.kube-reserved=gpu=1'], /cannot reserve "gpu" resource/],
    [['--'], /is not apiserver\.<flag>=<value>/],
    [['apiserver.audit-log-path=a\nb'], /has a control character in it/],
    [[`apiserver.audit-log-path=${'x'.repeat(100_000)}`], /is longer than 32768 characters/],
    [['etcd.name=x'], /there are apiserver, controller-manager, scheduler, kubelet/],
    [['scheduler.leader-elect=false'], /scheduler\.leader-elect: unknown option/],
  ];
  for (const [texts, message] of rows) {
    const { code, stderr } = await cluster.porthole([
      'up',
      '--name',
      'refused',
      ...simulated,
      ...extra(...texts),
    ]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
  }
  assert.ok(!existsSync(clusterPaths(scratch.path, 'refused').root));
  const config = file(
    'cluster.yaml',
    'apiVersion: cli.porthole.dev/v1\nkind: Cluster\nextraConfig: ["apiserver.audit-log-path=a\\0b"]\n',
  );
  const { code, stderr } = await cluster.porthole(['up', '--name', 'refused', '--config', config]);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /cluster\.yaml: extraConfig: .*has a control character in it/);
});

test(
  'a certificate that does not name where the nodes of containers are to reach the server is an error of up',
  limit,
  async () => {
    const dates = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
    const authority = await createCertificateAuthority({ commonName: 'company', ...dates });
    const ips = ['127.0.0.1', '10.96.0.1'];
    const made = await issueCertificate(authority, {
      commonName: 'company-server',
      usages: ['server'],
      ips,
      ...dates,
    });
    const { code, stderr } = await cluster.porthole([
      ...[
        'up',
        '--name',
        'refused',
        '--runtime',
        'containerd',
        '--linux',
        '1',
        '--windows',
        '0',
        '--no-merge',
      ],
      ...extra(
        `apiserver.tls-cert-file=${file('tls.crt', made.certificatePem)}`,
        `apiserver.tls-private-key-file=${file('tls.key', made.privateKeyPem)}`,
        `controller-manager.root-ca-file=${file('root.crt', authority.certificatePem)}`,
      ),
    ]);
    assert.equal(code, 1, stderr);
    assert.match(
      stderr,
      /does not start with --tls-cert-file, .*: certificate is valid for 127\.0\.0\.1, 10\.96\.0\.1, not (?!127)[0-9.]+: /,
    );
    assert.ok(!existsSync(clusterPaths(scratch.path, 'refused').root));
  },
);
