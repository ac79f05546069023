// The whole life of an object of each kind that the API has collections of: made, read, found, watched, changed, reported on, deleted with its like.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';

type Fields = Record<string, unknown>;
type Found = Fields & { metadata: Fields & { resourceVersion: string; generation?: number } };

interface Kind {
  readonly api: string;
  readonly resource: string;
  readonly cluster?: true;
  /** What an object has beside its name and labels; of its number, where no two may have the same. */
  readonly body?: Fields | ((number: number) => Fields);
  /** How it must be named, where any name won't do. */
  readonly name?: (number: number) => string;
  /** What its `status` is patched with. */
  readonly status?: Fields;
}

const selector = { matchLabels: { app: 'a' } };
const podSpec = { containers: [{ name: 'c', image: 'i' }] };
const template = { metadata: { labels: { app: 'a' } }, spec: podSpec };
const jobTemplate = { spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } };
const time = '2026-01-02T03:04:05Z';
const condition = {
  type: 'Tried',
  status: 'True',
  reason: 'E2E',
  message: 'Set by a test',
  lastTransitionTime: time,
};
const conditions = { conditions: [condition] };
const subject = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'somebody' };
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const roleRef = (kind: string): Fields => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'r' });
const claims = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const devices = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } };
const nowhere = { expression: 'false' };
const webhook = {
  name: 'w.example.com',
  clientConfig: { url: 'https://127.0.0.1:1/' },
  rules: [
    { apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['nones'], operations: ['CREATE'] },
  ],
  matchConditions: [{ name: 'never', ...nowhere }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const matchConstraints = {
  resourceRules: [
    { apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['nones'], operations: ['CREATE'] },
  ],
};
const mutation = {
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression: 'Object{}' },
};
const regarding = { kind: 'Pod', apiVersion: 'v1', namespace: 'lives', name: 'p' };
const { requestPem } = await createCertificateRequest({ commonName: 'somebody', organizations: [] });
const crd = (number: number): Fields => ({
  spec: {
    group: 'lives.example.com',
    scope: 'Namespaced',
    names: {
      plural: `kind${number}s`,
      singular: `kind${number}`,
      kind: `Kind${number}`,
      listKind: `Kind${number}List`,
    },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

const kinds: readonly Kind[] = [
  { api: 'v1', resource: 'configmaps', body: { data: { a: 'b' } } },
  { api: 'v1', resource: 'endpoints', body: { subsets: [] } },
  {
    api: 'v1',
    resource: 'events',
    body: { involvedObject: regarding, reason: 'r', message: 'm', type: 'Normal' },
  },
  { api: 'v1', resource: 'limitranges', body: { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } } },
  { api: 'v1', resource: 'nodes', cluster: true, status: conditions },
  { api: 'v1', resource: 'persistentvolumeclaims', body: { spec: claims }, status: conditions },
  {
    api: 'v1',
    resource: 'persistentvolumes',
    cluster: true,
    body: {
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } },
    },
    status: { reason: 'r', message: 'm' },
  },
  { api: 'v1', resource: 'pods', body: { spec: podSpec }, status: conditions },
  { api: 'v1', resource: 'podtemplates', body: { template } },
  {
    api: 'v1',
    resource: 'replicationcontrollers',
    body: { spec: { replicas: 0, selector: { app: 'a' }, template } },
    status: conditions,
  },
  {
    api: 'v1',
    resource: 'resourcequotas',
    body: { spec: { hard: { pods: '500' } } },
    status: { hard: { pods: '500' } },
  },
  { api: 'v1', resource: 'secrets', body: { stringData: { a: 'b' } } },
  { api: 'v1', resource: 'serviceaccounts' },
  { api: 'v1', resource: 'services', body: { spec: { ports: [{ port: 80 }] } }, status: conditions },
  {
    api: 'apiregistration.k8s.io/v1',
    resource: 'apiservices',
    cluster: true,
    name: (number) => `v${number}.lives.example.org`,
    body: (number) => ({
      spec: {
        group: 'lives.example.org',
        version: `v${number}`,
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: 'lives', name: 'none' },
      },
    }),
    status: conditions,
  },
  {
    api: 'apps/v1',
    resource: 'controllerrevisions',
    body: (number) => ({ revision: number, data: { a: 'b' } }),
  },
  { api: 'apps/v1', resource: 'daemonsets', body: { spec: { selector, template } }, status: conditions },
  {
    api: 'apps/v1',
    resource: 'deployments',
    body: { spec: { replicas: 0, selector, template } },
    status: conditions,
  },
  {
    api: 'apps/v1',
    resource: 'replicasets',
    body: { spec: { replicas: 0, selector, template } },
    status: conditions,
  },
  {
    api: 'apps/v1',
    resource: 'statefulsets',
    body: { spec: { replicas: 0, serviceName: 's', selector, template } },
    status: conditions,
  },
  {
    api: 'events.k8s.io/v1',
    resource: 'events',
    body: {
      eventTime: '2026-01-02T03:04:05.000006Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      action: 'a',
      reason: 'r',
      type: 'Normal',
      regarding,
    },
  },
  ...['autoscaling/v1', 'autoscaling/v2'].map((api) => ({
    api,
    resource: 'horizontalpodautoscalers',
    body: {
      spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    },
    status: { currentReplicas: 1, desiredReplicas: 1 },
  })),
  {
    api: 'batch/v1',
    resource: 'cronjobs',
    body: { spec: { schedule: '* */1 * * *', suspend: true, jobTemplate } },
    status: { lastScheduleTime: time },
  },
  {
    api: 'batch/v1',
    resource: 'jobs',
    body: { spec: { suspend: true, ...jobTemplate.spec } },
    status: conditions,
  },
  {
    api: 'certificates.k8s.io/v1',
    resource: 'certificatesigningrequests',
    cluster: true,
    body: {
      spec: {
        request: Buffer.from(requestPem).toString('base64'),
        signerName: 'example.com/e2e',
        usages: ['client auth'],
      },
    },
    status: { conditions: [{ type: 'Tried', status: 'True' }] },
  },
  {
    api: 'networking.k8s.io/v1',
    resource: 'ingressclasses',
    cluster: true,
    body: { spec: { controller: 'example.com/c' } },
  },
  {
    api: 'networking.k8s.io/v1',
    resource: 'ingresses',
    body: { spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } },
    status: { loadBalancer: { ingress: [{ ip: '169.1.1.1' }] } },
  },
  {
    api: 'networking.k8s.io/v1',
    resource: 'ipaddresses',
    cluster: true,
    name: (number) => `192.0.2.${number}`,
    body: { spec: { parentRef: { resource: 'services', namespace: 'lives', name: 's' } } },
  },
  { api: 'networking.k8s.io/v1', resource: 'networkpolicies', body: { spec: { podSelector: selector } } },
  {
    api: 'networking.k8s.io/v1',
    resource: 'servicecidrs',
    cluster: true,
    body: { spec: { cidrs: ['203.0.113.0/24'] } },
    status: conditions,
  },
  {
    api: 'policy/v1',
    resource: 'poddisruptionbudgets',
    body: { spec: { minAvailable: 1, selector } },
    status: conditions,
  },
  {
    api: 'rbac.authorization.k8s.io/v1',
    resource: 'clusterrolebindings',
    cluster: true,
    body: { roleRef: roleRef('ClusterRole'), subjects: [subject] },
  },
  { api: 'rbac.authorization.k8s.io/v1', resource: 'clusterroles', cluster: true, body: { rules } },
  {
    api: 'rbac.authorization.k8s.io/v1',
    resource: 'rolebindings',
    body: { roleRef: roleRef('Role'), subjects: [subject] },
  },
  { api: 'rbac.authorization.k8s.io/v1', resource: 'roles', body: { rules } },
  {
    api: 'storage.k8s.io/v1',
    resource: 'csidrivers',
    cluster: true,
    body: { spec: { attachRequired: false } },
  },
  { api: 'storage.k8s.io/v1', resource: 'csinodes', cluster: true, body: { spec: { drivers: [] } } },
  {
    api: 'storage.k8s.io/v1',
    resource: 'csistoragecapacities',
    body: { storageClassName: 'c', capacity: '1Gi' },
  },
  {
    api: 'storage.k8s.io/v1',
    resource: 'storageclasses',
    cluster: true,
    body: { provisioner: 'example.com/p' },
  },
  {
    api: 'storage.k8s.io/v1',
    resource: 'volumeattachments',
    cluster: true,
    body: { spec: { attacher: 'example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } } },
    status: { attached: true },
  },
  {
    api: 'storage.k8s.io/v1',
    resource: 'volumeattributesclasses',
    cluster: true,
    body: { driverName: 'example.com', parameters: { a: 'b' } },
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'mutatingadmissionpolicies',
    cluster: true,
    body: { spec: { reinvocationPolicy: 'Never', matchConstraints, mutations: [mutation] } },
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'mutatingadmissionpolicybindings',
    cluster: true,
    body: { spec: { policyName: 'none' } },
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'mutatingwebhookconfigurations',
    cluster: true,
    body: { webhooks: [webhook] },
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'validatingadmissionpolicies',
    cluster: true,
    body: { spec: { matchConstraints, validations: [nowhere] } },
    status: conditions,
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'validatingadmissionpolicybindings',
    cluster: true,
    body: { spec: { policyName: 'none', validationActions: ['Deny'] } },
  },
  {
    api: 'admissionregistration.k8s.io/v1',
    resource: 'validatingwebhookconfigurations',
    cluster: true,
    body: { webhooks: [webhook] },
  },
  {
    api: 'apiextensions.k8s.io/v1',
    resource: 'customresourcedefinitions',
    cluster: true,
    name: (number) => `kind${number}s.lives.example.com`,
    body: crd,
    status: conditions,
  },
  { api: 'scheduling.k8s.io/v1', resource: 'priorityclasses', cluster: true, body: { value: 7 } },
  {
    api: 'coordination.k8s.io/v1',
    resource: 'leases',
    body: { spec: { holderIdentity: 'h', leaseDurationSeconds: 30 } },
  },
  { api: 'node.k8s.io/v1', resource: 'runtimeclasses', cluster: true, body: { handler: 'h' } },
  {
    api: 'discovery.k8s.io/v1',
    resource: 'endpointslices',
    body: { addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'] }], ports: [] },
  },
  {
    api: 'resource.k8s.io/v1',
    resource: 'deviceclasses',
    cluster: true,
    body: { spec: { selectors: [{ cel: { expression: 'device.driver == "example.com"' } }] } },
  },
  {
    api: 'resource.k8s.io/v1',
    resource: 'resourceclaims',
    body: { spec: devices },
    status: {
      allocation: { devices: { results: [{ request: 'r', driver: 'example.com', pool: 'p', device: 'd' }] } },
    },
  },
  { api: 'resource.k8s.io/v1', resource: 'resourceclaimtemplates', body: { spec: { spec: devices } } },
  {
    api: 'resource.k8s.io/v1',
    resource: 'resourceslices',
    cluster: true,
    body: (number) => ({
      spec: {
        driver: 'example.com',
        nodeName: 'n',
        pool: { name: `p${number}`, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'd' }],
      },
    }),
  },
  {
    api: 'flowcontrol.apiserver.k8s.io/v1',
    resource: 'flowschemas',
    cluster: true,
    body: {
      spec: { matchingPrecedence: 10000, priorityLevelConfiguration: { name: 'global-default' } },
    },
    status: conditions,
  },
  {
    api: 'flowcontrol.apiserver.k8s.io/v1',
    resource: 'prioritylevelconfigurations',
    cluster: true,
    body: {
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: 2, limitResponse: { type: 'Reject' } } },
    },
    status: conditions,
  },
];

let server: TestControlPlane;
before(async () => {
  server = await startTestControlPlane();
  await asked('POST', '/api/v1/namespaces', { metadata: { name: 'lives' } }, 201);
  await asked('POST', '/api/v1/namespaces/lives/serviceaccounts', { metadata: { name: 'default' } }, 201);
});
after(() => server.close());

/** What the server answered, which must be so. */
async function asked(method: string, url: string, body?: unknown, status = 200): Promise<Found> {
  const answer = await server.ask(method, url, body);
  assert.equal(answer.status, status, `${method} ${url}: ${answer.message}`);
  return answer.body as Found;
}

const root = ({ api }: Kind): string => (api === 'v1' ? '/api/v1' : `/apis/${api}`);
const names = (list: Found): unknown[] => (list['items'] as Found[]).map(({ metadata }) => metadata['name']);
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const like = 'labelSelector=like%3Dthis';

/** One that is found by the label that all here of its kind have. */
function made(kind: Kind, number: number): Fields {
  const { name = (n: number) => `life-${n}`, body = {} } = kind;
  const metadata = { name: name(number), labels: { like: 'this', number: `${number}` } };
  return { metadata, ...(typeof body === 'function' ? body(number) : body) };
}

const annotated = (found: Found, key: string): Found => ({
  ...found,
  metadata: {
    ...found.metadata,
    annotations: { ...(found.metadata['annotations'] as Fields), [key]: 'yes' },
  },
});

async function isChanged(url: string): Promise<void> {
  const patched = await asked('PATCH', url, { metadata: { annotations: { patched: 'yes' } } });
  const updated = await asked('PUT', url, annotated(patched, 'updated'));
  assert.partialDeepStrictEqual(updated.metadata['annotations'], { patched: 'yes', updated: 'yes' });
  assert.deepEqual((await asked('GET', url)).metadata['annotations'], updated.metadata['annotations']);
  const stale = await server.ask('PUT', url, annotated(patched, 'again'));
  assert.equal(stale.status, 409, stale.text);
}

/** A whole status, written again where a controller of the server was faster. */
async function reportedAnew(url: string, status: Fields): Promise<Found> {
  for (let tries = 1; ; tries++) {
    const found = await asked('GET', url);
    const answer = await server.ask('PUT', url, {
      ...found,
      status: { ...(found['status'] as Fields), ...status },
    });
    if (answer.status === 200) return answer.body as Found;
    assert.ok(answer.status === 409 && tries < 9, answer.text);
  }
}

/** Their statuses are written without their metadata. */
const reportedOnly = [
  'apiservices',
  'flowschemas',
  'prioritylevelconfigurations',
  'resourceclaims',
  'servicecidrs',
  'validatingadmissionpolicies',
  'volumeattachments',
];

async function isReportedOn(url: string, status: Fields): Promise<void> {
  const found = await asked('GET', `${url}/status`);
  const body = { metadata: { annotations: { reported: 'yes' } }, status };
  const patched = await asked('PATCH', `${url}/status`, body);
  assert.partialDeepStrictEqual(patched['status'], status);
  assert.equal(patched.metadata.generation, found.metadata.generation);
  assert.deepEqual(patched['spec'], found['spec']);
  const updated = await reportedAnew(`${url}/status`, status);
  assert.partialDeepStrictEqual(updated['status'], status);
  const isAnnotated = (updated.metadata['annotations'] as Fields)['reported'] === 'yes';
  assert.equal(
    isAnnotated,
    !reportedOnly.some((resource) => url.includes(`/${resource}/`)),
    'annotated by its status',
  );
  assert.partialDeepStrictEqual((await asked('GET', url))['status'], status);
}

/** Both forms of discovery name the resource, what can be done with it, and its status. */
async function isDiscovered({ api, resource, status }: Kind): Promise<void> {
  const list = await asked('GET', api === 'v1' ? '/api/v1' : `/apis/${api}`);
  const found = (list['resources'] as { name: string; verbs: string[] }[]).filter(({ name }) =>
    [resource, `${resource}/status`].includes(name),
  );
  assert.deepEqual(found[0]?.verbs, verbs);
  if (status !== undefined) assert.deepEqual(found[1]?.verbs, ['get', 'patch', 'update']);
  if (api === 'v1') return;
  const [group] = api.split('/');
  const groups = (await asked('GET', '/apis'))['groups'] as { name: string; versions: Fields[] }[];
  const versions = groups.find(({ name }) => name === group)?.versions ?? [];
  assert.ok(versions.some(({ groupVersion }) => groupVersion === api));
}

async function lives(kind: Kind): Promise<void> {
  const { resource, status, cluster } = kind;
  const all = `${root(kind)}/${resource}`;
  const url = cluster ? all : `${root(kind)}/namespaces/lives/${resource}`;
  await isDiscovered(kind);
  const from = (await asked('GET', `${url}?${like}`)).metadata.resourceVersion;
  const objects = await Promise.all([1, 2, 3].map((number) => asked('POST', url, made(kind, number), 201)));
  const own = objects.map(({ metadata }) => String(metadata['name']));
  assert.deepEqual(names(await asked('GET', `${url}?${like}`)), own);
  assert.deepEqual(names(await asked('GET', `${all}?${like}`)), own);
  assert.deepEqual(names(await asked('GET', `${url}?labelSelector=number%3D2,like%3Dthis`)), [own[1]]);
  const page = await asked('GET', `${url}?${like}&limit=2`);
  assert.deepEqual(names(page), own.slice(0, 2));
  const next = encodeURIComponent(String(page.metadata['continue']));
  assert.deepEqual(names(await asked('GET', `${url}?${like}&limit=2&continue=${next}`)), own.slice(2));

  await isChanged(`${url}/${own[0]}`);
  if (status !== undefined) await isReportedOn(`${url}/${own[0]}`, status);
  await asked('DELETE', `${url}/${own[1]}`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
  await asked('DELETE', `${url}?${like}`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
  await areLetGo(url);
  await wereWatched(url, from, own);
}

/** What waits for a controller that does not run here is let go by hand; the server itself may be faster. */
async function areLetGo(url: string): Promise<void> {
  for (const { metadata } of (await asked('GET', `${url}?${like}`))['items'] as Found[]) {
    assert.ok(metadata['deletionTimestamp'], `${url}/${metadata['name']} stays`);
    const freed = await server.ask('PATCH', `${url}/${metadata['name']}`, { metadata: { finalizers: null } });
    assert.ok([200, 404].includes(freed.status), freed.text);
  }
  assert.deepEqual(names(await asked('GET', `${url}?${like}`)), []);
}

async function wereWatched(url: string, from: string, own: readonly string[]): Promise<void> {
  const { text } = await server.ask(
    'GET',
    `${url}?watch=true&${like}&resourceVersion=${from}&timeoutSeconds=1`,
  );
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; object: Found });
  for (const name of own) {
    const types = events.filter(({ object }) => object.metadata['name'] === name).map(({ type }) => type);
    assert.equal(types[0], 'ADDED', name);
    assert.equal(types.at(-1), 'DELETED', name);
    if (name === own[0]) assert.ok(types.includes('MODIFIED'), name);
  }
}

describe('an object is made, found, paged, changed, reported on, watched and deleted with its like', {
  concurrency: 8,
}, () => {
  for (const kind of kinds) it(`of ${kind.resource} of ${kind.api}`, () => lives(kind));
});

describe('beside its status', () => {
  const inner = '/apis/apps/v1/namespaces/lives';
  const scaled: [string, Fields][] = [
    [`${inner}/deployments`, { replicas: 0, selector, template }],
    [`${inner}/replicasets`, { replicas: 0, selector, template }],
    [`${inner}/statefulsets`, { replicas: 0, serviceName: 's', selector, template }],
    ['/api/v1/namespaces/lives/replicationcontrollers', { replicas: 0, selector: { app: 'a' }, template }],
  ];
  for (const [url, spec] of scaled)
    it(`a scale is read, written and patched: ${url.split('/').at(-1)}`, async () => {
      await asked('POST', url, { metadata: { name: 'scaled' }, spec }, 201);
      const scale = await asked('GET', `${url}/scaled/scale`);
      assert.deepEqual([scale['kind'], scale['spec']], ['Scale', {}]);
      const written = await asked('PUT', `${url}/scaled/scale`, { ...scale, spec: { replicas: 2 } });
      assert.deepEqual(written['spec'], { replicas: 2 });
      await asked('PATCH', `${url}/scaled/scale`, { spec: { replicas: 4 } });
      assert.partialDeepStrictEqual(await asked('GET', `${url}/scaled`), { spec: { replicas: 4 } });
    });

  it('a request for a certificate is approved by its own path only', async () => {
    const url = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const spec = {
      request: Buffer.from(requestPem).toString('base64'),
      signerName: 'example.com/approved',
      usages: ['client auth'],
    };
    const made = await asked('POST', url, { metadata: { name: 'approved' }, spec }, 201);
    const approved = { type: 'Approved', status: 'True', reason: 'E2E', message: 'by a test' };
    await asked('PUT', `${url}/approved`, { ...made, status: { conditions: [approved] } });
    assert.deepEqual((await asked('GET', `${url}/approved/approval`))['status'], {});
    const patch = { metadata: { annotations: { patched: 'yes' } }, status: { conditions: [approved] } };
    const patched = await asked('PATCH', `${url}/approved/approval`, patch);
    assert.partialDeepStrictEqual(patched, patch);
    const updated = await asked('PUT', `${url}/approved/approval`, annotated(patched, 'updated'));
    assert.equal((updated.metadata['annotations'] as Fields)['updated'], 'yes');
    assert.partialDeepStrictEqual(updated['status'], { conditions: [approved] });
  });

  it('a namespace is reported on, and keeps the finalizers of its spec until they are taken off', async () => {
    const url = '/api/v1/namespaces/finalized';
    await asked('POST', '/api/v1/namespaces', { metadata: { name: 'finalized' } }, 201);
    const found = await asked('GET', `${url}/status`);
    assert.deepEqual(found['status'], { phase: 'Active' });
    await isChanged(url);
    await isReportedOn(url, conditions);
    const finalizers = ['kubernetes', 'example.com/e2e'];
    const held = await asked('PUT', `${url}/finalize`, {
      ...(await asked('GET', url)),
      spec: { finalizers },
    });
    assert.deepEqual(held['spec'], { finalizers });
    const freed = await asked('PUT', `${url}/finalize`, { ...held, spec: { finalizers: ['kubernetes'] } });
    assert.deepEqual(freed['spec'], { finalizers: ['kubernetes'] });
  });
});

describe('what specs ask of single kinds', () => {
  it('conditions of a webhook are stored as they were sent, changed, and refused where they do not compile', async () => {
    for (const resource of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
      const url = `/apis/admissionregistration.k8s.io/v1/${resource}`;
      const withConditions = (expression: string): Fields => ({
        metadata: { name: 'conditions' },
        webhooks: [{ ...webhook, matchConditions: [{ name: 'c', expression }] }],
      });
      const conditionsOf = ({ webhooks }: Fields): unknown => (webhooks as Fields[])[0]?.['matchConditions'];
      const made = await asked('POST', url, withConditions("object.metadata.name != 'skip'"), 201);
      const { webhooks } = withConditions('false');
      await asked('PUT', `${url}/conditions`, { ...made, webhooks });
      assert.deepEqual(conditionsOf(await asked('GET', `${url}/conditions`)), [
        { name: 'c', expression: 'false' },
      ]);
      const refused = await server.ask('POST', url, withConditions('... [] bad expression'));
      assert.equal(refused.status, 422);
      assert.match(refused.message, /compilation failed/);
    }
  });

  it('an immutable map or secret keeps its data and that it is immutable, not its labels', async () => {
    for (const resource of ['configmaps', 'secrets']) {
      const url = `/api/v1/namespaces/lives/${resource}`;
      await asked('POST', url, { metadata: { name: 'still' }, data: { a: 'YQ==' } }, 201);
      await asked('PATCH', `${url}/still`, { data: { a: 'Yg==' }, immutable: true });
      for (const change of [{ data: { a: 'Yw==' } }, { immutable: false }]) {
        const refused = await server.ask('PATCH', `${url}/still`, change);
        assert.equal(refused.status, 422, refused.text);
        assert.match(refused.message, /field is immutable when `immutable` is set/);
      }
      await asked('PATCH', `${url}/still`, { metadata: { labels: { a: 'b' } } });
      await asked('DELETE', `${url}/still`);
    }
  });

  it('who may do what is said of another as the other is told it', async () => {
    const resourceAttributes = { verb: 'list', version: 'v1', resource: 'configmaps', namespace: 'lives' };
    const name = 'system:serviceaccount:lives:default';
    const other = { name, groups: ['system:serviceaccounts', 'system:authenticated'] };
    const rights = '/apis/authorization.k8s.io/v1';
    for (const allowed of [false, true]) {
      if (allowed) await mayList(name);
      const told = await server.ask('GET', '/api/v1/namespaces/lives/configmaps', undefined, { user: other });
      assert.equal(told.status, allowed ? 200 : 403);
      for (const url of [
        `${rights}/subjectaccessreviews`,
        `${rights}/namespaces/lives/localsubjectaccessreviews`,
      ]) {
        const spec = { resourceAttributes, user: name, groups: other.groups };
        const review = await asked(
          'POST',
          url,
          { metadata: { namespace: url.includes('local') ? 'lives' : undefined }, spec },
          201,
        );
        assert.equal((review['status'] as Fields)['allowed'], allowed, url);
      }
    }
  });

  it('an event is told anew, and becomes one of a series', async () => {
    const url = '/api/v1/namespaces/lives/events';
    const body = { involvedObject: regarding, reason: 'r', message: 'once', type: 'Normal' };
    await asked('POST', url, { metadata: { name: 'told' }, ...body }, 201);
    const patched = await asked('PATCH', `${url}/told`, { message: 'twice' });
    const series = { count: 100, lastObservedTime: '2026-01-02T03:04:05.000006Z' };
    await asked('PUT', `${url}/told`, { ...patched, series });
    assert.partialDeepStrictEqual(await asked('GET', `${url}/told`), { message: 'twice', series });
  });

  it('the version of the server is told in whole numbers', async () => {
    const { major, minor } = await asked('GET', '/version');
    assert.match(`${String(major)} ${String(minor)}`, /^\d+ \d+$/);
  });
});

async function mayList(name: string): Promise<void> {
  const url = '/apis/rbac.authorization.k8s.io/v1/namespaces/lives';
  const metadata = { name: 'lists' };
  const list = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
  await asked('POST', `${url}/roles`, { metadata, rules: list }, 201);
  const subjects = [{ ...subject, name }];
  await asked(
    'POST',
    `${url}/rolebindings`,
    { metadata, roleRef: { ...roleRef('Role'), name: 'lists' }, subjects },
    201,
  );
}
