// A webhook that is a pod of the cluster, behind a Service: the server asks it over the cluster's network.
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
let caBundle: string;

const labels = { app: 'webhook' };

/** The machine's Node in the pod: no image is needed for it. */
const program = (env: Readonly<Record<string, string>>): object =>
  podSpec(
    {
      command: ['chroot', '/machine', process.execPath, '--input-type=module', '-e', env['PROGRAM']],
      env: Object.entries(env)
        .filter(([name]) => name !== 'PROGRAM')
        .map(([name, value]) => ({ name, value })),
      ports: [{ name: 'https', containerPort: 8443 }],
      readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
      volumeMounts: [{ name: 'machine', mountPath: '/machine', readOnly: true }],
    },
    { volumes: [{ name: 'machine', hostPath: { path: '/' } }] },
  );

before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'webhook-ca', ...lifetime });
  const tls = await issueCertificate(ca, {
    commonName: 'webhook',
    usages: ['server'],
    dnsNames: ['webhook.default.svc'],
    ...lifetime,
  });
  caBundle = Buffer.from(ca.certificatePem).toString('base64');
  const PROGRAM = readFileSync(new URL('./programs/webhook.mjs', import.meta.url), 'utf8');
  const spec = program({ PROGRAM, KEY: tls.privateKeyPem, CERT: tls.certificatePem });
  await kubectl.apply(
    listManifest(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'webhook' },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'webhook' },
        spec: { selector: labels, ports: [{ port: 443, targetPort: 'https' }] },
      },
    ),
  );
  await kubectl.ok(['rollout', 'status', 'deployment/webhook', '--timeout=60s']);
}, limit);
after(() => cluster?.down(), limit);

const configuration = (kind: string, path: string, resources: readonly string[]): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${kind}WebhookConfiguration`,
  metadata: { name: 'webhook' },
  webhooks: [
    {
      name: `${path}.example.com`,
      clientConfig: { caBundle, service: { namespace: 'default', name: 'webhook', path: `/${path}` } },
      rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
});

test('a pod behind a Service changes and refuses objects', limit, async () => {
  await kubectl.apply(
    listManifest(
      configuration('Mutating', 'mutate', ['configmaps']),
      configuration('Validating', 'validate', ['configmaps']),
    ),
  );
  const { stderr } = await kubectl.run(['create', 'configmap', 'good', '--from-literal=a=b']);
  assert.match(stderr, /^Warning: looked at$/m);
  const seenBy = await kubectl.ok(['get', 'configmap', 'good', '-o', 'jsonpath={.metadata.labels.seen-by}']);
  assert.match(seenBy, /^webhook-/);
  const refused = await kubectl.run(['create', 'configmap', 'refused', '--from-literal=bad=yes']);
  assert.notEqual(refused.code, 0);
  assert.match(
    refused.stderr,
    /^error: failed to create configmap: admission webhook "validate\.example\.com" denied the request: it is bad$/m,
  );
});

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'endpoints.conv.example.com' },
  spec: {
    group: 'conv.example.com',
    scope: 'Namespaced',
    names: { plural: 'endpoints', kind: 'Endpoint' },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: Object.fromEntries(
            (name === 'v1' ? ['hostPort'] : ['host', 'port']).map((field) => [field, { type: 'string' }]),
          ),
        },
      },
    })),
  },
};

test(
  'a pod behind a Service converts custom resources, and kubectl reads and writes them in every version',
  limit,
  async () => {
    const clientConfig = { caBundle, service: { namespace: 'default', name: 'webhook', path: '/convert' } };
    const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
    await kubectl.apply(JSON.stringify({ ...definition, spec: { ...definition.spec, conversion } }));
    const name = definition.metadata.name;
    await kubectl.ok(['wait', '--for=condition=Established', `crd/${name}`, '--timeout=30s']);
    const object = (version: string, fields: object): string =>
      JSON.stringify({
        apiVersion: `conv.example.com/${version}`,
        kind: 'Endpoint',
        metadata: { name: `from-${version}` },
        ...fields,
      });
    await kubectl.apply(object('v1', { hostPort: 'one:80' }));
    await kubectl.apply(object('v2', { host: 'two', port: '81' }));
    const shown = (version: string, path: string): Promise<string> =>
      kubectl.ok(['get', `endpoints.${version}.conv.example.com`, '-o', `jsonpath=${path}`]);
    assert.equal(await shown('v2', '{range .items[*]}{.host}/{.port} {end}'), 'one/80 two/81 ');
    assert.equal(await shown('v1', '{range .items[*]}{.hostPort} {end}'), 'one:80 two:81 ');
    await kubectl.ok([
      'patch',
      'endpoints.v2.conv.example.com',
      'from-v1',
      '--type=merge',
      '-p',
      '{"port":"90"}',
    ]);
    assert.equal(await shown('v1', '{.items[0].hostPort}'), 'one:90');
    await kubectl.ok(['delete', 'crd', name, '--timeout=60s']);
  },
);

test(
  'a webhook that keeps its own pods from being made is cured by deleting its configuration',
  limit,
  async () => {
    await kubectl.apply(listManifest(configuration('Validating', 'validate', ['pods'])));
    await kubectl.ok(['scale', 'deployment/webhook', '--replicas=0']);
    await kubectl.ok(['wait', '--for=delete', 'pod', '-l', 'app=webhook', '--timeout=60s']);
    await kubectl.ok(['scale', 'deployment/webhook', '--replicas=1']);
    await eventually(async () =>
      assert.match(
        await kubectl.ok([
          'get',
          'events',
          '--field-selector=reason=FailedCreate',
          '-o',
          'jsonpath={.items[*].message}',
        ]),
        /failed calling webhook "validate\.example\.com": failed to call webhook: Post "https:\/\/webhook\.default\.svc:443\/validate\?timeout=10s": no endpoints available for service "webhook"/,
      ),
    );
    await kubectl.ok(['delete', 'validatingwebhookconfiguration', 'webhook']);
    await kubectl.ok(['rollout', 'status', 'deployment/webhook', '--timeout=60s']);
  },
);
