// An API server as people write them to extend a cluster: over TLS, behind the front proxy, with a kind that can be written and watched and one that is only read.
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';

export interface AskedExtension {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Version of HTTP. */
  readonly protocol: string;
  /** Common name of the front proxy's certificate; '' when it is not believed. */
  readonly proxy: string;
}

export type ExtensionAnswer = (request: IncomingMessage, response: ServerResponse) => void;

interface Flunder {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly [member: string]: unknown;
}

export interface ExtensionServer {
  readonly port: number;
  /** Base64 of PEM. */
  readonly caBundle: string;
  readonly asked: AskedExtension[];
  /** Instead of what it answers, by path without its query. */
  readonly answers: Map<string, ExtensionAnswer>;
  readonly flunders: Map<string, Flunder>;
  /** Connections that are open now. */
  readonly open: () => number;
  /** Of HTTP/2. */
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  close(): Promise<void>;
}

/** What it offers, besides HTTP/1.1. */
export type ExtensionProtocol = 'h2' | 'http/1.1';

/** Of servers of which nobody says: the same tests run over both. */
export const extensionProtocol: { usual: ExtensionProtocol } = { usual: 'http/1.1' };

export const extensionGroup = 'wardle.example.com';
const groupVersion = `${extensionGroup}/v1alpha1`;
const metrics = 'metrics.k8s.io/v1beta1';
const discoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

const flunderVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const flunderResource = {
  resource: 'flunders',
  responseKind: { group: extensionGroup, version: 'v1alpha1', kind: 'Flunder' },
  scope: 'Namespaced',
  singularResource: 'flunder',
  verbs: flunderVerbs,
  shortNames: ['fl'],
};
const discovery = {
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [
    {
      metadata: { name: extensionGroup },
      versions: [{ version: 'v1alpha1', freshness: 'Current', resources: [flunderResource] }],
    },
    {
      metadata: { name: 'metrics.k8s.io' },
      versions: [
        {
          version: 'v1beta1',
          freshness: 'Current',
          resources: [
            {
              resource: 'nodes',
              responseKind: { group: 'metrics.k8s.io', version: 'v1beta1', kind: 'NodeMetrics' },
              scope: 'Cluster',
              singularResource: 'node',
              verbs: ['get', 'list'],
            },
          ],
        },
      ],
    },
    // Whose group this server was not asked for.
    { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources: [flunderResource] }] },
  ],
};

const lists: Readonly<Record<string, object>> = {
  [`/apis/${groupVersion}`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: [
      {
        name: 'flunders',
        singularName: 'flunder',
        namespaced: true,
        kind: 'Flunder',
        verbs: flunderVerbs,
        shortNames: ['fl'],
      },
      { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get'] },
    ],
  },
  [`/apis/${metrics}`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: metrics,
    resources: [
      { name: 'nodes', singularName: 'node', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    ],
  },
};

const nodeMetrics = {
  kind: 'NodeMetricsList',
  apiVersion: metrics,
  metadata: {},
  items: [{ metadata: { name: 'one' }, window: '10s', usage: { cpu: '100m', memory: '1Gi' } }],
};

const ref = (type: string): object => ({ schema: { $ref: `#/definitions/${type}` } });
const listPath = (type: string): object => ({
  get: { operationId: `list${type}`, responses: { '200': { description: 'OK', ...ref(type) } } },
});
const openApiV2 = {
  swagger: '2.0',
  info: { title: 'extension', version: 'v0' },
  paths: {
    [`/apis/${groupVersion}/flunders`]: listPath('com.example.wardle.Flunder'),
    '/api/v1/pods': listPath('com.example.wardle.Stolen'),
  },
  definitions: {
    'com.example.wardle.Flunder': {
      description: 'Flunder is an example.',
      type: 'object',
      properties: {
        part: { $ref: '#/definitions/com.example.wardle.Part' },
        metadata: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
      },
    },
    'com.example.wardle.Part': { type: 'string' },
    'com.example.wardle.Stolen': { type: 'string' },
    'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': { type: 'string', description: 'stolen' },
  },
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

const send = (response: ServerResponse, status: number, object: object, type = 'application/json'): void =>
  void response.writeHead(status, { 'content-type': type }).end(JSON.stringify(object));

const failure = (code: number, reason: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `flunders: ${reason}`,
  reason,
  code,
});

const flunderPath = new RegExp(`^/apis/${groupVersion}(?:/namespaces/([^/]+))?/flunders(?:/([^/]+))?$`);

class Flunders {
  readonly all = new Map<string, Flunder>();
  readonly #watchers = new Set<ServerResponse>();
  #revision = 1;

  async answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> {
    const [found, namespace, name] = flunderPath.exec(url.pathname) ?? [];
    if (found === undefined) return false;
    if (request.method === 'POST') this.#create(namespace!, JSON.parse(await bodyOf(request)), response);
    else if (name !== undefined) this.#one(request.method!, `${namespace}/${name}`, response);
    else if (request.method === 'DELETE') this.#deleteAll(namespace!, response);
    else if (url.searchParams.get('watch') !== null) this.#watch(response);
    else send(response, 200, this.#list(namespace));
    return true;
  }

  #list(namespace: string | undefined): object {
    const items = [...this.all.values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    const metadata = { resourceVersion: String(this.#revision) };
    return { kind: 'FlunderList', apiVersion: groupVersion, metadata, items };
  }

  #create(namespace: string, given: Flunder, response: ServerResponse): void {
    const metadata = { ...given.metadata, namespace, uid: `uid-${++this.#revision}` };
    const made = {
      ...given,
      kind: 'Flunder',
      apiVersion: groupVersion,
      metadata: { ...metadata, resourceVersion: String(this.#revision) },
    };
    this.all.set(`${namespace}/${metadata.name}`, made);
    this.#tell('ADDED', made);
    send(response, 201, made);
  }

  #one(method: string, key: string, response: ServerResponse): void {
    const found = this.all.get(key);
    if (found === undefined) {
      send(response, 404, failure(404, 'NotFound'));
      return;
    }
    if (method === 'DELETE') this.#delete(key, found);
    send(response, 200, found);
  }

  #deleteAll(namespace: string, response: ServerResponse): void {
    const list = this.#list(namespace);
    for (const [key, one] of this.all) if (one.metadata.namespace === namespace) this.#delete(key, one);
    send(response, 200, list);
  }

  #delete(key: string, one: Flunder): void {
    this.all.delete(key);
    this.#revision++;
    this.#tell('DELETED', one);
  }

  #watch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    this.#watchers.add(response);
    response.on('close', () => this.#watchers.delete(response));
  }

  #tell(type: string, object: Flunder): void {
    for (const watcher of this.#watchers) watcher.write(`${JSON.stringify({ type, object })}\n`);
  }
}

export async function startExtensionServer(options: {
  /** PEM: who vouches for the front proxy. */
  readonly frontProxyCa: string;
  readonly dnsNames?: readonly string[];
  readonly host?: string;
  readonly protocol?: ExtensionProtocol;
}): Promise<ExtensionServer> {
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'extension-ca', ...lifetime });
  const tls = await issueCertificate(ca, {
    commonName: 'extension',
    usages: ['server'],
    dnsNames: ['api.wardle.svc', ...(options.dnsNames ?? [])],
    ...lifetime,
  });
  const flunders = new Flunders();
  const asked: AskedExtension[] = [];
  const answers: ExtensionServer['answers'] = new Map();
  const note = (request: IncomingMessage): void => {
    const { stream } = request as unknown as Partial<Http2ServerRequest>;
    const socket = (stream?.session?.socket ?? request.socket) as TLSSocket;
    const proxy = socket.authorized ? String(socket.getPeerCertificate().subject?.CN ?? '') : '';
    const { ':authority': host, ...headers } = request.headers;
    const told = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
    asked.push({
      method: request.method!,
      url: request.url!,
      headers: Object.fromEntries(host === undefined ? told : [['host', host], ...told]),
      protocol: request.httpVersion,
      proxy,
    });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    note(request);
    const url = new URL(request.url!, 'https://extension');
    const own = answers.get(url.pathname);
    if (own !== undefined) own(request, response);
    else if (url.pathname === '/apis') send(response, 200, discovery, discoveryType);
    else if (lists[url.pathname] !== undefined) send(response, 200, lists[url.pathname]!);
    else if (url.pathname === `/apis/${metrics}/nodes`) send(response, 200, nodeMetrics);
    else if (url.pathname === '/openapi/v3')
      send(response, 200, {
        paths: {
          [`apis/${groupVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${groupVersion}?hash=AB` },
        },
      });
    else if (url.pathname === '/openapi/v2') send(response, 200, openApiV2);
    else if (url.pathname === `/openapi/v3/apis/${groupVersion}`)
      send(response, 200, { openapi: '3.0.0', info: { title: 'extension' }, paths: {} });
    else if (!(await flunders.answer(request, response, url))) send(response, 404, failure(404, 'NotFound'));
  };
  const { protocol = extensionProtocol.usual } = options;
  const serving = {
    cert: tls.certificatePem,
    key: tls.privateKeyPem,
    ca: options.frontProxyCa,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request, response).catch(() => response.destroy());
  const server =
    protocol === 'h2'
      ? createSecureServer({ ...serving, allowHTTP1: true }, onRequest as never)
      : createServer(serving, onRequest);
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  // Says again what it is told.
  server.on('upgrade', (request, socket, head) => {
    note(request);
    socket.on('error', () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
    socket.write(head);
    socket.pipe(socket);
  });
  let open = 0;
  server.on('secureConnection', (socket) => {
    open++;
    socket.on('error', () => {});
    socket.on('close', () => open--);
  });
  server.listen(0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(ca.certificatePem).toString('base64'),
    asked,
    answers,
    flunders: flunders.all,
    open: () => open,
    sessions,
    async close() {
      for (const session of sessions) session.destroy();
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
