// An API server that is a pod of the cluster: kubectl sees its kinds as it sees those of the server itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { limit, listManifest, podSpec, startLinuxCluster } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;

const labels = { app: 'wardle' };
const group = 'wardle.example.com';
const kubeSystem = 'kube-system';

const told = (key: string): object => ({
  valueFrom: { configMapKeyRef: { name: 'extension-apiserver-authentication', key } },
});

/** The machine's Node in the pod: no image is needed for it. */
function serverSpec(key: string, cert: string): object {
  const program = readFileSync(new URL('./programs/extension-server.mjs', import.meta.url), 'utf8');
  return podSpec(
    {
      command: ['chroot', '/machine', process.execPath, '--input-type=module', '-e', program],
      env: [
        { name: 'KEY', value: key },
        { name: 'CERT', value: cert },
        { name: 'FRONT_PROXY_CA', ...told('requestheader-client-ca-file') },
        { name: 'NAMES', ...told('requestheader-allowed-names') },
      ],
      ports: [{ name: 'https', containerPort: 8443 }],
      readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
      volumeMounts: [{ name: 'machine', mountPath: '/machine', readOnly: true }],
    },
    { volumes: [{ name: 'machine', hostPath: { path: '/' } }] },
  );
}

const apiService = (group: string, version: string, caBundle: string): object => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `${version}.${group}` },
  spec: {
    group,
    version,
    groupPriorityMinimum: 2000,
    versionPriority: 100,
    caBundle,
    service: { namespace: kubeSystem, name: 'wardle' },
  },
});

before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'wardle-ca', ...lifetime });
  const tls = await issueCertificate(ca, {
    commonName: 'wardle',
    usages: ['server'],
    dnsNames: ['wardle.kube-system.svc'],
    ...lifetime,
  });
  const caBundle = Buffer.from(ca.certificatePem).toString('base64');
  const metadata = { name: 'wardle', namespace: kubeSystem };
  await kubectl.apply(
    listManifest(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: serverSpec(tls.privateKeyPem, tls.certificatePem) },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { selector: labels, ports: [{ port: 443, targetPort: 'https' }] },
      },
      apiService(group, 'v1alpha1', caBundle),
      apiService('metrics.k8s.io', 'v1beta1', caBundle),
    ),
  );
  await kubectl.ok([
    'wait',
    '--for=condition=Available',
    `apiservice/v1alpha1.${group}`,
    'apiservice/v1beta1.metrics.k8s.io',
    '--timeout=90s',
  ]);
}, limit);
after(() => cluster?.down(), limit);

const flunder = (name: string, namespace: string): object => ({
  apiVersion: `${group}/v1alpha1`,
  kind: 'Flunder',
  metadata: { name, namespace },
});

test('kubectl lists, makes, reads, watches and deletes its kinds', limit, async () => {
  const resources = await eventually(async () => {
    const found = await kubectl.ok(['api-resources', '--api-group', group, '--no-headers']);
    assert.match(found, /^flunders\s+fl\s+wardle\.example\.com\/v1alpha1\s+true\s+Flunder\s*$/);
    return found;
  });
  assert.ok(resources);
  assert.match(await kubectl.ok(['api-versions']), /^wardle\.example\.com\/v1alpha1$/m);
  const manifest = JSON.stringify(flunder('first', 'default'));
  const made = await kubectl.run(['create', '--validate=false', '-f', '-'], { input: manifest });
  assert.equal(made.code, 0, made.stderr);
  assert.match(await kubectl.ok(['get', 'fl']), /^first\s/m);
  assert.match(
    await kubectl.ok(['get', '--raw', `/apis/${group}/v1alpha1/namespaces/default/flunders/first`]),
    /"by":"kubernetes-admin"/,
  );
  const metrics = await kubectl.ok(['get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes']);
  assert.match(metrics, /"name":"measured"/);
  await kubectl.ok(['delete', 'flunder', 'first']);
  assert.equal((await kubectl.run(['get', 'flunder', 'first'])).code, 1);
});

test('a namespace takes the objects of other servers with it', limit, async () => {
  await kubectl.ok(['create', 'namespace', 'short']);
  const manifest = JSON.stringify(flunder('second', 'short'));
  const made = await kubectl.run(['create', '--validate=false', '-f', '-'], { input: manifest });
  assert.equal(made.code, 0, made.stderr);
  await kubectl.ok(['delete', 'namespace', 'short', '--timeout=60s']);
  assert.equal((await kubectl.ok(['get', 'flunders', '-A', '-o', 'name'])).trim(), '');
});

test('whoever is bound to the Role reads whom to believe, and nobody else', limit, async () => {
  const may = async (account: string): Promise<string> =>
    (
      await kubectl.run([
        'auth',
        'can-i',
        'get',
        'configmaps/extension-apiserver-authentication',
        '-n',
        kubeSystem,
        `--as=system:serviceaccount:default:${account}`,
      ])
    ).stdout.trim();
  await kubectl.ok([
    'create',
    'rolebinding',
    'wardle-reader',
    '-n',
    kubeSystem,
    '--role=extension-apiserver-authentication-reader',
    '--serviceaccount=default:wardle',
  ]);
  assert.deepEqual([await may('wardle'), await may('default')], ['yes', 'no']);
});

test('a server that is gone is told of, and comes back', limit, async () => {
  await kubectl.ok(['scale', '-n', kubeSystem, 'deployment/wardle', '--replicas=0']);
  const name = `apiservice/v1alpha1.${group}`;
  await kubectl.ok(['wait', '--for=condition=Available=false', name, '--timeout=60s']);
  const refused = await kubectl.run(['get', '--raw', `/apis/${group}/v1alpha1/flunders`]);
  assert.match(refused.stderr, /the server is currently unable to handle the request/);
  assert.match(
    await kubectl.ok(['get', name, '--no-headers']),
    /kube-system\/wardle\s+False \((?:MissingEndpoints|EndpointsNotFound|FailedDiscoveryCheck)\)/,
  );
  assert.match(await kubectl.ok(['get', 'configmaps']), /kube-root-ca\.crt/);
  await kubectl.ok(['scale', '-n', kubeSystem, 'deployment/wardle', '--replicas=1']);
  await kubectl.ok(['wait', '--for=condition=Available', name, '--timeout=90s']);
  await kubectl.ok(['get', 'flunders']);
});
