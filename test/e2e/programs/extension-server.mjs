// An API server as a pod: one kind that can be written and watched, one that is only read. It believes the front proxy alone.
import { createServer } from 'node:https';

const { KEY: key, CERT: cert, FRONT_PROXY_CA: ca, NAMES: names } = process.env;
const group = 'wardle.example.com';
const version = `${group}/v1alpha1`;
const metrics = 'metrics.k8s.io/v1beta1';
const flunders = new Map();
const watchers = new Set();
let revision = 1;

const tell = (type, object) => {
  for (const watcher of watchers) watcher.write(`${JSON.stringify({ type, object })}\n`);
};
const status = (code, reason, message) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: code < 300 ? 'Success' : 'Failure',
  reason,
  message,
  code,
});
const remove = (name) => {
  const one = flunders.get(name);
  flunders.delete(name);
  revision++;
  tell('DELETED', one);
};
const listOf = (namespace) => ({
  kind: 'FlunderList',
  apiVersion: version,
  metadata: { resourceVersion: String(revision) },
  items: [...flunders.values()].filter(
    (one) => namespace === undefined || one.metadata.namespace === namespace,
  ),
});
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'watch'];
const lists = {
  [`/apis/${version}`]: {
    groupVersion: version,
    resources: [
      {
        name: 'flunders',
        singularName: 'flunder',
        namespaced: true,
        kind: 'Flunder',
        verbs,
        shortNames: ['fl'],
      },
    ],
  },
  [`/apis/${metrics}`]: {
    groupVersion: metrics,
    resources: [
      { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    ],
  },
};

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

function create(given, namespace, by) {
  const metadata = {
    ...given.metadata,
    namespace,
    uid: `f-${++revision}`,
    resourceVersion: String(revision),
  };
  const made = {
    ...given,
    metadata: { ...metadata, annotations: { by }, creationTimestamp: new Date().toISOString() },
  };
  flunders.set(`${namespace}/${metadata.name}`, made);
  tell('ADDED', made);
  return made;
}

async function answer(request, response) {
  const send = (code, object) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(object));
  const believed =
    request.socket.authorized && names.includes(request.socket.getPeerCertificate().subject.CN);
  if (!believed) return send(401, status(401, 'Unauthorized', 'Unauthorized'));
  const url = new URL(request.url, 'https://self');
  const list = lists[url.pathname];
  if (list !== undefined) return send(200, { kind: 'APIResourceList', apiVersion: 'v1', ...list });
  if (url.pathname === `/apis/${metrics}/nodes`)
    return send(200, {
      kind: 'NodeMetricsList',
      apiVersion: metrics,
      metadata: {},
      items: [
        {
          metadata: { name: 'measured' },
          timestamp: new Date().toISOString(),
          window: '10s',
          usage: { cpu: '250m', memory: '1Gi' },
        },
      ],
    });
  const [, namespace, name] =
    /^\/apis\/[^/]+\/[^/]+(?:\/namespaces\/([^/]+))?\/flunders(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
  if (!url.pathname.includes('/flunders')) return send(404, status(404, 'NotFound', 'not found'));
  const id = `${namespace}/${name}`;
  if (request.method === 'POST')
    return send(201, create(await read(request), namespace, request.headers['x-remote-user']));
  if (name !== undefined) {
    const found = flunders.get(id);
    if (found === undefined) return send(404, status(404, 'NotFound', `flunders "${name}" not found`));
    if (request.method === 'DELETE') remove(id);
    return send(200, request.method === 'DELETE' ? status(200) : found);
  }
  if (request.method === 'DELETE') {
    for (const one of listOf(namespace).items) remove(`${namespace}/${one.metadata.name}`);
    return send(200, status(200));
  }
  if (url.searchParams.get('watch') === null) return send(200, listOf(namespace));
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  watchers.add(response);
  response.on('close', () => watchers.delete(response));
}

const server = createServer(
  { key, cert, ca, requestCert: true, rejectUnauthorized: false },
  (request, response) => answer(request, response).catch(() => response.destroy()),
);
server.listen(8443);
process.on('SIGTERM', () => process.exit());
