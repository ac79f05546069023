// An operator as a pod: its webhooks, its conversion and its loop over custom resources, which people use by kubectl alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  busybox,
  limit,
  listManifest,
  podManifest,
  podSpec,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;

const group = 'operator.example.com';
const namespace = 'operator';
const labels = { app: 'operator' };
const repository = fileURLToPath(new URL('../..', import.meta.url));
const program = fileURLToPath(new URL('programs/operator.mjs', import.meta.url));

const service = (path: string): object => ({ service: { namespace, name: 'operator', path } });

const schema = (spec: object): object => ({
  openAPIV3Schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: { replicas: { type: 'integer', minimum: 0, maximum: 3 }, ...spec },
      },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
});

const version = (name: string, spec: object): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: schema(spec),
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
  ],
});

const text = { type: 'string' };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `websites.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: {
      plural: 'websites',
      singular: 'website',
      kind: 'Website',
      shortNames: ['web'],
      categories: ['all'],
    },
    conversion: {
      strategy: 'Webhook',
      webhook: { clientConfig: service('/convert'), conversionReviewVersions: ['v1'] },
    },
    versions: [version('v1', { text }), version('v2', { page: { type: 'object', properties: { text } } })],
  },
};

const configuration = (kind: string, path: string): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: 'websites' },
  webhooks: [
    {
      name: `${kind.toLowerCase()}.${group}`,
      clientConfig: service(path),
      // written for v2: what is asked in v1 is converted before
      rules: [
        {
          operations: ['CREATE', 'UPDATE'],
          apiGroups: [group],
          apiVersions: ['v2'],
          resources: ['websites'],
        },
      ],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
});

/** What it does, and nothing else. */
const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'operator' },
  rules: [
    { apiGroups: [group], resources: ['websites', 'websites/status', 'websites/finalizers'], verbs: ['*'] },
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch', 'create', 'patch'] },
    { apiGroups: [''], resources: ['configmaps', 'services'], verbs: ['get', 'create', 'patch'] },
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      resourceNames: [`websites.${group}`],
      verbs: ['get', 'patch'],
    },
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
      resourceNames: ['websites'],
      verbs: ['get', 'patch'],
    },
  ],
};

/** Node and the libraries it needs are the machine's: no image is built for it. */
function operatorSpec(): object {
  const paths = ['/usr', '/lib', '/lib64', repository];
  return podSpec(
    {
      command: [process.execPath, program],
      env: [{ name: 'IMAGE', value: busybox }],
      ports: [{ name: 'https', containerPort: 8443 }],
      readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
      volumeMounts: [
        { name: 'tls', mountPath: '/tls', readOnly: true },
        ...paths.map((path, index) => ({ name: `machine-${index}`, mountPath: path, readOnly: true })),
      ],
    },
    {
      serviceAccountName: 'operator',
      volumes: [
        { name: 'tls', secret: { secretName: 'operator-tls' } },
        ...paths.map((path, index) => ({ name: `machine-${index}`, hostPath: { path } })),
      ],
    },
  );
}

async function tlsSecret(): Promise<object> {
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'operator-ca', ...lifetime });
  const dnsNames = [`operator.${namespace}.svc`];
  const tls = await issueCertificate(ca, {
    commonName: 'operator',
    usages: ['server'],
    dnsNames,
    ...lifetime,
  });
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: 'operator-tls', namespace },
    stringData: { 'tls.crt': tls.certificatePem, 'tls.key': tls.privateKeyPem, 'ca.crt': ca.certificatePem },
  };
}

before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  const metadata = { name: 'operator', namespace };
  await kubectl.apply(
    listManifest(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      definition,
      configuration('MutatingWebhookConfiguration', '/default'),
      configuration('ValidatingWebhookConfiguration', '/validate'),
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      role,
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'operator' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'operator' },
        subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace }],
      },
      await tlsSecret(),
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: operatorSpec() } },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { selector: labels, ports: [{ port: 443, targetPort: 'https' }] },
      },
    ),
  );
  await kubectl.ok(['rollout', 'status', 'deployment/operator', '-n', namespace, '--timeout=80s']);
  await kubectl.apply(podManifest('visitor', { command: untilTerm }));
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/visitor', '--timeout=60s']);
}, limit);
after(() => cluster?.down(), limit);

const website = (version: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: `${group}/${version}`, kind: 'Website', metadata: { name }, spec });
const ready = (name: string): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', `website/${name}`, '--timeout=60s']);
const shown = (path: string, ...what: readonly string[]): Promise<string> =>
  kubectl.ok(['get', ...what, '-o', `jsonpath=${path}`]);
async function visited(name: string): Promise<string> {
  const address = await shown('{.spec.clusterIP}', 'service', name);
  return kubectl.ok(['exec', 'visitor', '--', 'timeout', '5', 'wget', '-qO-', `http://${address}`]);
}

test(
  'what is applied in one version is defaulted and judged in another, made, and reported as ready',
  limit,
  async () => {
    await kubectl.apply(website('v1', 'hello', { text: 'good morning' }));
    await ready('hello');
    assert.equal(await visited('hello'), 'good morning\n');
    assert.equal(
      await shown('{.spec}', 'websites.v2.operator.example.com', 'hello'),
      '{"page":{"text":"good morning"},"replicas":1}',
    );
    assert.match(
      await kubectl.ok(['get', 'web']),
      /^NAME +READY +URL\nhello +True +http:\/\/hello\.default\.svc\n$/,
    );
    assert.match(await kubectl.ok(['get', 'all']), /^website\.operator\.example\.com\/hello/m);
    const empty = await kubectl.run(['apply', '-f', '-'], { input: website('v1', 'empty', { replicas: 1 }) });
    assert.match(
      empty.stderr,
      /admission webhook "validatingwebhookconfiguration\.operator\.example\.com" denied the request: spec\.page\.text: a website needs a text/,
    );
  },
);

test(
  'scaling a custom resource scales what it stands for, and what is taken away comes back',
  limit,
  async () => {
    await kubectl.ok(['scale', 'website/hello', '--replicas=2']);
    await eventually(async () =>
      assert.equal(await shown('{.spec.replicas} {.status.replicas}', 'website', 'hello'), '2 2'),
    );
    const first = await shown('{.metadata.uid}', 'deployment', 'hello');
    await kubectl.ok(['delete', 'deployment', 'hello']);
    await eventually(async () =>
      assert.notEqual(await shown('{.metadata.uid}', 'deployment', 'hello'), first),
    );
    await ready('hello');
    const tooMany = await kubectl.run(['scale', 'website/hello', '--replicas=9']);
    assert.match(
      tooMany.stderr,
      /spec\.replicas: Invalid value: 9: spec\.replicas in body should be less than or equal to 3/,
    );
  },
);

test('a second pod of the operator goes on where the first was ended', limit, async () => {
  await kubectl.ok(['delete', 'pod', '-n', namespace, '-l', 'app=operator']);
  await kubectl.ok(['rollout', 'status', 'deployment/operator', '-n', namespace, '--timeout=60s']);
  await eventually(() =>
    kubectl.apply(website('v2', 'hello', { page: { text: 'good evening' }, replicas: 1 })),
  );
  await eventually(async () => assert.equal(await visited('hello'), 'good evening\n'));
});

test(
  'a website that is deleted is recorded first, and takes with it what was made for it',
  limit,
  async () => {
    await kubectl.ok(['delete', 'website', 'hello', '--timeout=60s']);
    assert.equal(await shown('{.data.text}', 'configmap', 'hello-was-here'), 'good evening');
    await eventually(async () =>
      assert.equal(await kubectl.ok(['get', 'deploy,svc,cm,pod', '-l', 'website=hello', '-o', 'name']), ''),
    );
  },
);
