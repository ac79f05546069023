// What a JavaScript program does with a cluster, by @kubernetes/client-node as it is: types, informers, watch, apply, exec, port-forward.
// Prints `ok <step>` for each step that held, and ends with the first that did not. Types are not asked for: there are many.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  PatchStrategy,
  PortForward,
  Watch,
} from '@kubernetes/client-node';

const [kubeconfig, pod] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const objects = KubernetesObjectApi.makeApiClient(config);
const namespace = 'from-node';

const configMap = (name, value) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { app: 'node' } },
  data: { key: value },
});
const refused = (code, reason, doing) =>
  assert.rejects(doing, (error) => {
    assert.ok(error instanceof ApiException, String(error));
    const body = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
    assert.deepEqual([error.code, body.reason], [code, reason]);
    return true;
  });

async function typed() {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  await core.createNamespacedConfigMap({ namespace, body: configMap('typed', 'one') });
  const read = await core.readNamespacedConfigMap({ namespace, name: 'typed' });
  assert.ok(read.metadata.creationTimestamp instanceof Date);
  read.data.key = 'two';
  const replaced = await core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: read });
  assert.equal(replaced.data.key, 'two');
  await refused(409, 'Conflict', core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: read }));
  await refused(
    409,
    'AlreadyExists',
    core.createNamespacedConfigMap({ namespace, body: configMap('typed', '') }),
  );
  await refused(404, 'NotFound', core.readNamespacedConfigMap({ namespace, name: 'nobody' }));
  await refused(
    422,
    'Invalid',
    core.createNamespacedConfigMap({ namespace, body: configMap('Not_A_Name', '') }),
  );
  const deployments = await config.makeApiClient(AppsV1Api).listDeploymentForAllNamespaces();
  assert.ok(Array.isArray(deployments.items));
}

async function applied() {
  const apply = (manager, value, force) =>
    objects.patch(
      configMap('applied', value),
      undefined,
      undefined,
      manager,
      force,
      PatchStrategy.ServerSideApply,
    );
  await apply('first', 'one');
  await refused(409, 'Conflict', apply('second', 'two'));
  assert.equal((await apply('second', 'two', true)).data.key, 'two');
  const merged = await objects.patch(
    { ...configMap('applied', null), data: { key: null, more: 'three' } },
    undefined,
    undefined,
    undefined,
    undefined,
    PatchStrategy.MergePatch,
  );
  assert.deepEqual(merged.data, { more: 'three' });
}

async function informed() {
  const seen = [];
  const told = new PassThrough({ objectMode: true });
  const informer = makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: 'app=node' }),
    'app=node',
  );
  for (const what of ['add', 'update', 'delete'])
    informer.on(what, (one) => {
      if (one.metadata.name === 'informed') told.write(`${what} ${one.data.key}`);
    });
  informer.on('error', (error) => told.destroy(error));
  await informer.start();
  assert.equal(informer.get('typed', namespace).data.key, 'two');
  await core.createNamespacedConfigMap({ namespace, body: configMap('informed', 'one') });
  const fresh = await core.readNamespacedConfigMap({ namespace, name: 'informed' });
  await core.replaceNamespacedConfigMap({
    namespace,
    name: 'informed',
    body: { ...fresh, data: { key: 'two' } },
  });
  await core.deleteNamespacedConfigMap({ namespace, name: 'informed' });
  for await (const one of told) if (seen.push(one) === 3) break;
  await informer.stop();
  assert.deepEqual(seen, ['add one', 'update two', 'delete two']);
}

async function watched() {
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const seen = [];
  const { promise, resolve, reject } = Promise.withResolvers();
  const watching = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name=watched' },
    (type, one) => {
      seen.push(`${type} ${one.data.key}`);
      if (type === 'DELETED') resolve();
    },
    reject,
  );
  await core.createNamespacedConfigMap({ namespace, body: configMap('watched', 'one') });
  await core.deleteNamespacedConfigMap({ namespace, name: 'watched' });
  await promise;
  watching.abort();
  assert.deepEqual(seen, ['ADDED one', 'DELETED one']);
}

async function executed() {
  const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { promise, resolve } = Promise.withResolvers();
  const said = Promise.all([text(output), text(errors)]);
  const command = ['sh', '-c', 'read line; echo $line; echo heard >&2; exit 3'];
  const socket = await new Exec(config).exec(
    'default',
    pod,
    'main',
    command,
    output,
    errors,
    input,
    false,
    resolve,
  );
  input.write('said\n');
  const status = await promise;
  output.end();
  errors.end();
  socket.close();
  assert.deepEqual(await said, ['said\n', 'heard\n']);
  assert.equal(status.details.causes.find(({ reason }) => reason === 'ExitCode').message, '3');
}

async function logged() {
  const log = new PassThrough();
  const said = text(log);
  await new Log(config).log('default', pod, 'main', log, { tailLines: 1 });
  assert.equal(await said, 'begun\n');
}

async function forwarded() {
  const [output, input] = [new PassThrough(), new PassThrough()];
  const first = once(output, 'data');
  const socket = await new PortForward(config).portForward('default', pod, [8080], output, null, input);
  input.write('GET / HTTP/1.0\r\n\r\n');
  assert.match((await first).toString(), /^HTTP\/1.[01] 200 OK/);
  socket.close();
}

for (const step of [typed, applied, informed, watched, executed, logged, forwarded]) {
  await step();
  console.log(`ok ${step.name}`);
}
await core.deleteNamespace({ name: namespace });
process.exit(0);
