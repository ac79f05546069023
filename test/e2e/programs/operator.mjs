// An operator as people write them, by @kubernetes/client-node inside a pod: Websites become a ConfigMap, a Deployment and a Service.
// It sets defaults, refuses and converts by webhooks, whose authority it writes into their configurations itself; it reports a status and cleans up by a finalizer.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import {
  ApiException,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
} from '@kubernetes/client-node';

const group = 'operator.example.com';
const plural = 'websites';
const finalizer = `${group}/record`;
const authority = readFileSync('/tls/ca.crt').toString('base64');

const config = new KubeConfig();
config.loadFromCluster();
const objects = KubernetesObjectApi.makeApiClient(config);
const websites = config.makeApiClient(CustomObjectsApi);
const version = 'v2';

// Webhooks. v1 has the page's text in `text`, v2 in `page.text`.

function converted(object, apiVersion) {
  const { text, page, ...spec } = object.spec;
  const shown = text ?? page?.text;
  if (shown === undefined) return { ...object, apiVersion };
  return {
    ...object,
    apiVersion,
    spec: apiVersion.endsWith('/v1') ? { ...spec, text: shown } : { ...spec, page: { text: shown } },
  };
}

const patch = (...operations) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: btoa(JSON.stringify(operations)),
});

const answers = {
  '/convert': ({ objects, desiredAPIVersion }) => ({
    result: { status: 'Success' },
    convertedObjects: objects.map((object) => converted(object, desiredAPIVersion)),
  }),
  '/default': ({ object }) =>
    object.spec.replicas === undefined
      ? patch({ op: 'add', path: '/spec/replicas', value: 1 })
      : { allowed: true },
  '/validate': ({ object }) =>
    object.spec.page?.text
      ? { allowed: true }
      : {
          allowed: false,
          status: { code: 422, reason: 'Invalid', message: 'spec.page.text: a website needs a text' },
        },
};

const server = createServer(
  { key: readFileSync('/tls/tls.key'), cert: readFileSync('/tls/tls.crt') },
  async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const review = JSON.parse(Buffer.concat(parts).toString());
    const answer = answers[new URL(request.url, 'https://operator').pathname](review.request);
    response.end(
      JSON.stringify({
        apiVersion: review.apiVersion,
        kind: review.kind,
        response: { uid: review.request.uid, ...answer },
      }),
    );
  },
);

/** What cert-manager's injector does for operators that have it. */
async function writeAuthority() {
  const name = `${plural}.${group}`;
  await objects.patch(
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: { conversion: { webhook: { clientConfig: { caBundle: authority } } } },
    },
    undefined,
    undefined,
    'operator',
    undefined,
    PatchStrategy.MergePatch,
  );
  for (const kind of ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'])
    await objects.patch(
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: 'websites' },
        webhooks: [{ name: `${kind.toLowerCase()}.${group}`, clientConfig: { caBundle: authority } }],
      },
      undefined,
      undefined,
      'operator',
      undefined,
      PatchStrategy.StrategicMergePatch,
    );
}

// What a website consists of.

function parts({ apiVersion, kind, metadata: { name, namespace, uid }, spec }) {
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
  const metadata = { name, namespace, labels: { website: name }, ownerReferences };
  const container = {
    name: 'httpd',
    image: process.env.IMAGE,
    command: ['sh', '-c', 'trap "exit 0" TERM; httpd -f -p 8080 -h /www & wait'],
    readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'page', mountPath: '/www' }],
  };
  const selector = { website: name };
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'index.html': `${spec.page.text}\n` } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: spec.replicas,
        selector: { matchLabels: selector },
        template: {
          // another page is another template, and so a rollout
          metadata: { labels: selector, annotations: { page: spec.page.text } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [container],
            volumes: [{ name: 'page', configMap: { name } }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ];
}

const apply = (object) =>
  objects.patch(object, undefined, undefined, 'operator', true, PatchStrategy.ServerSideApply);

async function recordAndLetGo(website) {
  const { name, namespace } = website.metadata;
  await apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-was-here`, namespace },
    data: { text: website.spec.page.text },
  });
  const finalizers = website.metadata.finalizers.filter((other) => other !== finalizer);
  await websites.replaceNamespacedCustomObject({
    group,
    version,
    plural,
    namespace,
    name,
    body: { ...website, metadata: { ...website.metadata, finalizers } },
  });
}

async function reconcile(namespace, name) {
  const at = { group, version, plural, namespace, name };
  const website = await websites.getNamespacedCustomObject(at);
  const { metadata } = website;
  const finalizers = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined)
    return finalizers.includes(finalizer) ? recordAndLetGo(website) : undefined;
  if (!finalizers.includes(finalizer))
    await websites.replaceNamespacedCustomObject({
      ...at,
      body: { ...website, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } },
    });
  const [, deployment] = await Promise.all(parts(website).map(apply));
  const { availableReplicas = 0, updatedReplicas = 0, observedGeneration } = deployment.status ?? {};
  const isReady =
    observedGeneration === deployment.metadata.generation &&
    availableReplicas === website.spec.replicas &&
    updatedReplicas === website.spec.replicas;
  const status = {
    observedGeneration: metadata.generation,
    replicas: availableReplicas,
    selector: `website=${name}`,
    url: `http://${name}.${namespace}.svc`,
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        reason: isReady ? 'Served' : 'RollingOut',
        message: '',
        lastTransitionTime: metadata.creationTimestamp,
      },
    ],
  };
  const fresh = await websites.getNamespacedCustomObject(at);
  await websites.replaceNamespacedCustomObjectStatus({ ...at, body: { ...fresh, status } });
}

// A queue: each website at most once at a time, and again when something was in its way.

const waiting = new Set();
const working = new Set();

async function work(key) {
  if (working.has(key) || !waiting.delete(key)) return;
  working.add(key);
  const [namespace, name] = key.split('/');
  await reconcile(namespace, name).catch((error) => {
    const code = error instanceof ApiException ? error.code : undefined;
    if (code === 404) return;
    if (code !== 409) console.error(key, error);
    setTimeout(enqueue, 200, key);
  });
  working.delete(key);
  await work(key);
}

function enqueue(key) {
  waiting.add(key);
  void work(key);
}

async function watch(path, list, keyOf) {
  const informer = makeInformer(config, path, list);
  for (const verb of ['add', 'update', 'delete'])
    informer.on(verb, (object) => {
      const name = keyOf(object);
      if (name !== undefined) enqueue(`${object.metadata.namespace}/${name}`);
    });
  informer.on('error', (error) => {
    console.error(path, error);
    setTimeout(() => informer.start(), 500);
  });
  await informer.start();
}

process.on('SIGTERM', () => process.exit());
await writeAuthority();
await watch(
  `/apis/${group}/${version}/${plural}`,
  () => websites.listCustomObjectForAllNamespaces({ group, version, resourcePlural: plural }),
  (website) => website.metadata.name,
);
await watch(
  '/apis/apps/v1/deployments',
  () => objects.list('apps/v1', 'Deployment'),
  (deployment) => deployment.metadata.ownerReferences?.find((owner) => owner.kind === 'Website')?.name,
);
// that it is ready says that it knows all websites and that its webhooks are believed
server.listen(8443);
