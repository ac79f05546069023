// Between clients and another API server: neither says what only this server may say, and a server that lies, hangs or floods harms nobody else.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, type Http2ServerRequest } from 'node:http2';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { eventLine } from '../../../src/api/audit/event.ts';
import { readAuditPolicy } from '../../../src/api/audit/policy.ts';
import { policyMatcher } from '../../../src/apiserver/audit/audit-rules.ts';
import type { ApiRequest, ApiResponse } from '../../../src/apiserver/http.ts';
import { testServing } from '../../../src/apiserver/testing/test-serving.ts';
import { wholeBody } from '../../../src/apiserver/testing/whole-body.ts';
import { yamlToJson } from '../../../src/base/yaml.ts';
import { systemClock } from '../../../src/component-base/system-clock.ts';
import { openPki } from '../../../src/controlplane/pki.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../../src/controlplane/testing/test-control-plane.ts';
import { createHttpServer } from '../../../src/wire/http-server.ts';
import { eventually } from '../../harness/eventually.ts';
import {
  type ExtensionServer,
  extensionGroup,
  extensionProtocol,
  startExtensionServer,
} from '../../harness/extension-server.ts';

const files = new Map<string, string>();
const pki = await openPki(
  { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
  systemClock,
);
const frontProxy = await pki.frontProxyClient();
const audited: string[] = [];
const auditPolicy =
  '{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: RequestResponse}]}';
let plane: TestControlPlane;
let server: ExtensionServer;
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';
const base = `/apis/${extensionGroup}/v1alpha1`;
const flunders = `${base}/namespaces/default/flunders`;
const name = `v1alpha1.${extensionGroup}`;

const specOf = (group: string, version: string, more: object = {}): object => ({
  group,
  version,
  groupPriorityMinimum: 2000,
  versionPriority: 200,
  caBundle: server.caBundle,
  service: { namespace: 'wardle', name: 'api', port: server.port },
  ...more,
});

const conditionOf = async (of: string): Promise<{ reason?: string; message?: string }> => {
  const { body } = await plane.ask('GET', `${apiServices}/${of}`);
  return (
    (body as { status?: { conditions?: { reason: string; message: string }[] } }).status?.conditions?.[0] ??
    {}
  );
};
const available = (of: string): Promise<void> =>
  eventually(async () => assert.equal((await conditionOf(of)).reason, 'Passed'));

before(async () => {
  server = await startExtensionServer({ frontProxyCa: pki.authorities.frontProxyCa() });
  plane = await startTestControlPlane({
    pki,
    frontProxyClient: () => frontProxy,
    audit: {
      match: policyMatcher(readAuditPolicy(auditPolicy).policy),
      backend: {
        process: (events) => audited.push(...events.map(eventLine)) > 0,
        close: async () => {},
      },
      readYaml: yamlToJson,
    },
    authentication: {
      requestHeaders: { usernameHeaders: ['X-Own-User'], extraHeadersPrefixes: ['X-Own-Extra-'] },
    },
  });
  await plane.ask('POST', '/api/v1/namespaces', { metadata: { name: 'wardle' } });
  await plane.ask('POST', '/api/v1/namespaces/wardle/services', {
    metadata: { name: 'api' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const made = await plane.ask('POST', apiServices, {
    metadata: { name },
    spec: specOf(extensionGroup, 'v1alpha1'),
  });
  assert.equal(made.status, 201, made.text);
  await available(name);
});
after(async () => {
  await plane?.close();
  await server?.close();
});
beforeEach(() => {
  server.answers.clear();
  server.asked.splice(0);
});

const { signal } = new AbortController();
const send = (url: string, more: Partial<ApiRequest> = {}): Promise<ApiResponse> =>
  plane.controlPlane.handle({
    method: 'GET',
    url,
    headers: {},
    readBody: async () => Buffer.alloc(0),
    signal,
    remoteAddress: '192.0.2.7',
    user: administrator,
    ...more,
  });
const textOf = async ({ body }: ApiResponse): Promise<string> => (await wholeBody(body)).toString();
const asked = () => server.asked.filter(({ url }) => url.startsWith(flunders));

test('what another server answers writes nothing into the audit log', async () => {
  const forged = '{"kind":"A"},"user":{"username":"forged"},"x":{"y":1}';
  server.answers.set(
    flunders,
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(forged),
  );
  audited.splice(0);
  assert.equal(await textOf(await send(flunders)), forged);
  const [line] = audited.filter((one) => one.includes(flunders));
  assert.ok(!line!.includes('forged'), line!);
  const event = JSON.parse(line!) as { user: { username: string }; stage: string; responseStatus: object };
  assert.deepEqual(
    [event.user.username, event.stage, event.responseStatus],
    [administrator.name, 'ResponseComplete', { metadata: {}, code: 200 }],
  );
});

test('what only a front proxy may say is taken out of requests', async () => {
  const headers = {
    'x-remote-user': 'root',
    'x-remote-group': ['system:masters'],
    'x-remote-uid': '0',
    'x-remote-extra-scopes': 'all',
    x_remote_user: 'root',
    'x-remote_group': 'system:masters',
    'x-own-user': 'root',
    'x-own-extra-a': 'b',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'elsewhere',
    forwarded: 'for=127.0.0.1',
    authorization: 'Bearer secret',
    'proxy-authorization': 'Basic secret',
    connection: 'x-remote-user',
    'x-harmless': 'stays',
  };
  const jane = user('jane', 'readers', 'system:masters');
  assert.equal((await send(flunders, { headers, user: jane })).status, 200);
  const [got] = asked();
  const { host, connection, 'audit-id': audit, ...told } = got!.headers;
  assert.deepEqual(told, {
    'x-harmless': 'stays',
    'x-remote-user': 'jane',
    'x-remote-group': 'readers, system:masters, system:authenticated',
    'x-forwarded-for': '192.0.2.7',
  });
  assert.ok(host && audit);
  assert.equal(connection === undefined, got!.protocol === '2.0');
  assert.equal(got?.proxy, 'front-proxy-client');
});

test('a name that a header would change is told to nobody', async () => {
  for (const one of ['admin ', ' admin', 'a\r\nx-remote-group: system:masters', 'a\u0000', '\tadmin']) {
    const answer = await send(flunders, { user: user(one, 'system:masters') });
    assert.equal(answer.status, 400, JSON.stringify(one));
  }
  const extra = { ...user('a', 'system:masters'), extra: { 'k\r\nx-remote-user: root': ['v'] } };
  assert.equal((await send(flunders, { user: extra })).status, 200);
  const [got] = asked();
  assert.equal(got?.headers['x-remote-user'], 'a');
  assert.equal(got?.headers['x-remote-extra-k%0d%0ax-remote-user%3a%20root'], 'v');
  assert.equal(asked().length, 1);
});

test('the path that is asked for is the one that was judged', async () => {
  const rows: readonly (readonly [string, number, string?])[] = [
    [`${base}/namespaces/default/../other/flunders`, 400],
    [`${base}/namespaces/default/%2e%2e/other/flunders`, 400],
    [`${base}/namespaces/a%2fb/flunders`, 400],
    [`/${flunders}`, 200, flunders],
    [`${flunders}/`, 404, `${flunders}/`],
    [`${flunders}?b=2&a=1&b=%26`, 200, `${flunders}?a=1&b=2&b=%26`],
    [`${base}/namespaces/default/fl%75nders`, 200, flunders],
    [`${flunders}/a:b@c,d`, 404, `${flunders}/a:b@c,d`],
    [`${flunders}/%C3%BC`, 404, `${flunders}/%C3%BC`],
  ];
  for (const [url, status, expected] of rows) {
    server.asked.splice(0);
    assert.equal((await send(url)).status, status, url);
    assert.equal(server.asked.at(-1)?.url, expected, url);
  }
});

test('nobody is sent elsewhere', async () => {
  const { port } = server;
  server.answers.set(
    flunders,
    (_, response) => void response.writeHead(302, { location: `https://localhost:${port}/stolen` }).end(),
  );
  const answer = await send(flunders);
  assert.equal(answer.status, 502);
  assert.equal(answer.headers['location'], undefined);
  assert.equal(
    await textOf(answer),
    'the backend attempted to redirect this request, which is not permitted',
  );
  server.answers.set(
    flunders,
    (_, response) =>
      void response.writeHead(200, { 'access-control-allow-origin': '*', 'x-its': 'own' }).end('{}'),
  );
  const open = await send(flunders);
  assert.deepEqual([open.headers['access-control-allow-origin'], open.headers['x-its']], [undefined, 'own']);
  assert.ok(!server.asked.some(({ url }) => url.includes('stolen')));
});

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
interface Group {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly freshness: string;
    readonly resources: readonly { resource: string }[];
  }[];
}
const discovery = async (): Promise<Group[]> =>
  (await plane.ask('GET', '/apis', undefined, { accept })).body['items'] as Group[];
let looks = 200;
/** Its APIService is another: it is asked anew what it serves. */
const look = (): Promise<unknown> =>
  plane.ask('PATCH', `${apiServices}/${name}`, { spec: { versionPriority: ++looks } });

test('a server lies about what it serves, and only its own place in discovery shows it', async () => {
  const type = accept;
  const deployments = [{ resource: 'deployments', verbs: ['get'], responseKind: { kind: 'Stolen' } }];
  const own = (resources: unknown): object => ({
    items: [
      { metadata: { name: extensionGroup }, versions: [{ version: 'v1alpha1', resources }] },
      { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources: deployments }] },
      { metadata: { name: 'other.example.com' }, versions: [{ version: 'v1', resources: deployments }] },
    ],
  });
  const rows: readonly (readonly [unknown, number])[] = [
    [own([{ resource: 1 }, null, 'x', { resource: 'good', verbs: 7, scope: [] }]), 1],
    [own({ a: 1 }), 0],
    [own(Array.from({ length: 5000 }, (_, i) => ({ resource: `r${i}`, subresources: [{}, {}] }))), 1000],
    [own([{ resource: 'x'.repeat(100_000), __proto__: { polluted: true } }]), 1],
  ];
  for (const [document, expected] of rows) {
    server.answers.set(
      '/apis',
      (_, response) => void response.writeHead(200, { 'content-type': type }).end(JSON.stringify(document)),
    );
    await look();
    await eventually(async () => {
      const groups = await discovery();
      const [version] = groups.find(({ metadata }) => metadata.name === extensionGroup)!.versions;
      assert.deepEqual([version!.freshness, version!.resources.length], ['Current', expected]);
      assert.ok(version!.resources.every(({ resource }) => resource.length <= 253));
      assert.ok(!groups.some(({ metadata }) => metadata.name === 'other.example.com'));
      assert.ok(!JSON.stringify(groups).includes('Stolen'));
    });
  }
});

test('a server that answers discovery with nonsense, too much or not at all is Stale, and others are not', async () => {
  const hangs: readonly string[] = ['{', '['.repeat(3_000_000), ' '.repeat(9 << 20)];
  for (const body of hangs) {
    server.answers.set(
      '/apis',
      (_, response) => void response.writeHead(200, { 'content-type': accept }).end(body),
    );
    await look();
    await eventually(async () => {
      const groups = await discovery();
      const of = (group: string): string | undefined =>
        groups.find(({ metadata }) => metadata.name === group)?.versions[0]?.freshness;
      assert.deepEqual([of(extensionGroup), of('apps')], ['Stale', 'Current']);
    });
    server.answers.clear();
    await look();
    await eventually(async () => {
      const found = (await discovery()).find(({ metadata }) => metadata.name === extensionGroup)!;
      assert.equal(found.versions[0]!.freshness, 'Current');
    });
  }
});

test('descriptions that are nonsense, too deep, too many or too long are left out of the document of all', async () => {
  const path = `${base}/flunders`;
  const refs = Array.from({ length: 6000 }, (_, i) => ({ $ref: `#/definitions/t${i}` }));
  const types = Object.fromEntries(refs.map((_, i) => [`t${i}`, { type: 'string' }]));
  const rows: readonly (readonly [string, (text: string) => boolean])[] = [
    [
      JSON.stringify({ paths: { [path]: { get: 7, post: { parameters: [null, 1] } } }, definitions: [] }),
      (text) => text.includes(`"${path}"`),
    ],
    [
      JSON.stringify({ paths: { [path]: { get: { description: 'x'.repeat(200_000) } } } }),
      (text) => !text.includes(`"${path}"`),
    ],
    [
      JSON.stringify({ paths: { [path]: { get: { parameters: refs.slice(0, 1) } } }, definitions: types }),
      (text) => text.includes('"t0":') && !text.includes('"t1":'),
    ],
    [
      `{"paths":{"${path}":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}}`,
      (text) => text.includes('"t0":'),
    ],
  ];
  for (const [document, holds] of rows) {
    server.answers.set('/openapi/v2', (_, response) => void response.writeHead(200).end(document));
    await look();
    await eventually(async () => {
      const { status, text } = await plane.ask('GET', '/openapi/v2');
      assert.equal(status, 200);
      assert.ok(holds(text), document.slice(0, 100));
      assert.ok(text.includes('"io.k8s.api.core.v1.Pod"'));
    });
    const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    assert.equal((await plane.ask('GET', '/openapi/v2', undefined, { accept })).status, 200);
  }
});

test('a server that hangs keeps no seats of this one, and gathers no requests without end', async () => {
  server.answers.set(flunders, () => {});
  const left = new AbortController();
  const jane = user('jane');
  await plane.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'jane' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  });
  const all = Array.from({ length: 450 }, () => send(flunders, { user: jane, signal: left.signal }));
  await eventually(() => assert.equal(asked().length, 400));
  let ended = 0;
  for (const one of all) void one.then(({ status }) => status === 503 && ended++);
  // Of the same flow and level: it is answered while all of them hang.
  const other = await plane.ask('GET', '/api/v1/namespaces/default', undefined, { user: jane });
  assert.equal(other.status, 200);
  assert.equal(ended, 0);
  left.abort();
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 429).length, 50);
  assert.equal(statuses.filter((status) => status === 503).length, 400);
  await eventually(() => assert.ok(server.open() <= 16, String(server.open())));
});

test('an answer without an end is no more than its reader takes, and ends with it', async () => {
  let written = 0;
  server.answers.set(flunders, (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 16))) written += 1 << 16;
      response.once('drain', more);
    };
    more();
  });
  const before = server.open();
  const { status, body } = await send(`${flunders}?watch=1`);
  assert.equal(status, 200);
  assert.ok(body !== undefined && 'pull' in body);
  await eventually(async () => {
    const at = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(written, at);
  });
  assert.ok(written < 32 << 20, String(written));
  body.close();
  await eventually(() => assert.ok(server.open() <= before, String(server.open())));
});

test('a head without an end, or an answer that breaks off, is a failure', async () => {
  server.answers.set(
    flunders,
    (_, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(2 << 20) }).end(),
  );
  const long = await send(flunders);
  assert.equal(long.status, 503);
  assert.match(await textOf(long), /^error trying to reach service: /);
  server.answers.set(flunders, (_, response) => void response.destroy());
  const none = await send(flunders);
  assert.equal(none.status, 503);
  assert.match(
    await textOf(none),
    /^error trying to reach service: (EOF|stream error: stream ID \d+; NO_ERROR; received from peer)\n$/,
  );
  server.answers.set(flunders, (_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{');
    setImmediate(() => response.destroy());
  });
  const half = await send(flunders);
  assert.equal(half.status, 200);
  await assert.rejects(wholeBody(half.body));
});

// HTTP/2 has no such answer.
if (extensionProtocol.usual !== 'h2')
  test('a server that switches protocols when nobody asked is told of, and no fault of this one', async () => {
    server.answers.set(
      flunders,
      (_, response) =>
        void response.socket?.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
        ),
    );
    const switched = await send(flunders);
    assert.equal(switched.status, 503);
    assert.match(await textOf(switched), /backend tried to switch protocol "x" when "" was requested\n$/);
    server.answers.delete(flunders);
  });

test('who is not vouched for, or has another name, is not believed', async () => {
  const other = await startExtensionServer({ frontProxyCa: pki.authorities.frontProxyCa() });
  try {
    const rows: readonly (readonly [string, object, RegExp])[] = [
      ['stranger', { caBundle: other.caBundle }, /x509: certificate signed by unknown authority$/],
      ['nobody', { caBundle: undefined }, /x509: certificate signed by unknown authority$/],
      [
        'renamed',
        { service: { namespace: 'wardle', name: 'renamed', port: server.port } },
        /x509: certificate is not valid for renamed\.wardle\.svc$/,
      ],
      ['garbage', { caBundle: btoa('nonsense') }, /^unable to load root certificates: unable to parse bytes/],
      ['broken', { caBundle: btoa('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n') }, /./],
    ];
    await plane.ask('POST', '/api/v1/namespaces/wardle/services', {
      metadata: { name: 'renamed' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    for (const [group, more, expected] of rows) {
      const spec = specOf(`${group}.example.com`, 'v1', more);
      const made = await plane.ask('POST', apiServices, {
        metadata: { name: `v1.${group}.example.com` },
        spec,
      });
      assert.equal(made.status, 201, made.text);
      await eventually(async () => {
        const { reason, message = '' } = await conditionOf(`v1.${group}.example.com`);
        assert.equal(reason, 'FailedDiscoveryCheck');
        assert.match(message, expected);
      });
      // Whoever may write its status can't make it trusted either.
      const url = `${apiServices}/v1.${group}.example.com`;
      await plane.ask('PATCH', `${url}/status`, {
        status: { conditions: [{ type: 'Available', status: 'True', reason: 'Passed' }] },
      });
      const answer = await plane.ask('GET', `/apis/${group}.example.com/v1/things`);
      assert.ok([500, 503].includes(answer.status), `${group}: ${answer.status} ${answer.text}`);
      await plane.ask('DELETE', url);
    }
    assert.ok(!server.asked.some(({ url }) => url.includes('example.com/v1/things')));
  } finally {
    await other.close();
  }
});

test('an upgraded connection goes through, with the headers of the front proxy and no others', async () => {
  const front = createServer().on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    void send(request.url!, { headers: request.headers, upgrade: { socket, head } }).then((answer) => {
      if (answer.hijacked !== true) socket.end(`HTTP/1.1 ${answer.status} no\r\n\r\n`);
    });
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const { port } = front.address() as AddressInfo;
  const dial = async (path: string): Promise<{ text(): string; socket: ReturnType<typeof connect> }> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    let text = '';
    socket.on('data', (data: Buffer) => {
      text += data.toString();
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Remote-User: root\r\nAuthorization: Bearer x\r\n\r\n`,
    );
    return { text: () => text, socket };
  };
  try {
    const path = `${flunders}/one/console`;
    const { text, socket } = await dial(path);
    await eventually(() => assert.match(text(), /^HTTP\/1\.1 101 /));
    socket.write('ping');
    await eventually(() => assert.match(text(), /ping$/));
    const got = server.asked.find(({ url }) => url === path)!;
    assert.equal(got.headers['x-remote-user'], administrator.name);
    assert.equal(got.headers.authorization, undefined);
    assert.equal(got.headers.upgrade, 'echo');
    assert.equal(got.proxy, 'front-proxy-client');
    socket.destroy();
    const denied = await dial(`${base}/namespaces/default/../x/flunders/one/console`);
    await eventually(() => assert.match(denied.text(), /^HTTP\/1\.1 400 /));
    denied.socket.destroy();
  } finally {
    front.close();
  }
});

interface Upload {
  /** What the client sends goes here. */
  readonly out: Duplex | ReturnType<typeof requestHttps>;
  readonly status: Promise<number>;
}

/** Clients of a real port: over HTTP/1.1 and HTTP/2. */
async function uploaders(): Promise<{
  readonly clients: Readonly<Record<string, (path: string, headers?: object) => Upload>>;
  close(): Promise<void>;
}> {
  const serving = await testServing();
  const front = createHttpServer({
    handler: (request) =>
      send(request.url, {
        method: request.method,
        headers: request.headers,
        readBody: (limit) => request.readBody(limit),
        streamBody: () => request.streamBody?.(),
        signal: request.signal,
      }),
    tls: serving,
  });
  const { port } = await front.listen(0, '127.0.0.1');
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: serving.caPem }).on('error', () => {});
  const http1 = (path: string, headers: object = {}): Upload => {
    const of = { port, host: '127.0.0.1', path, method: 'POST', ca: serving.caPem, agent: false as const };
    const out = requestHttps({ ...of, headers } as RequestOptions);
    const status = once(out, 'response').then(([response]) => (response as IncomingMessage).statusCode!);
    out.on('error', () => {});
    return { out, status };
  };
  const http2 = (path: string, headers: object = {}): Upload => {
    const out = session.request({ ':method': 'POST', ':path': path, ...headers });
    const status = once(out, 'response').then(([head]) => Number((head as { ':status': number })[':status']));
    out.on('error', () => {});
    return { out, status };
  };
  return {
    clients: { http1, http2 },
    async close() {
      session.destroy();
      await front.close();
    },
  };
}

test('bodies go through as they come: their length, their end, and that nobody takes them', async () => {
  const { clients, close } = await uploaders();
  const size = 24 << 20;
  const piece = Buffer.alloc(1 << 20, 'x');
  try {
    for (const [protocol, upload] of Object.entries(clients)) {
      let taken = 0;
      let asked: IncomingMessage | undefined;
      server.answers.set(flunders, (request, response) => {
        asked = request;
        taken = 0;
        if (request.headers['x-hold'] === undefined)
          request.on('data', ({ length }: Buffer) => {
            taken += length;
          });
        request.on('end', () => response.writeHead(201).end('{}'));
      });
      // Longer than this server reads for itself, its length said or not.
      for (const headers of [{}, { 'content-length': String(size) }]) {
        const { out, status } = upload(flunders, headers);
        for (let sent = 0; sent < size; sent += piece.length) if (!out.write(piece)) await once(out, 'drain');
        out.end();
        assert.equal(await status, 201, protocol);
        assert.equal(taken, size, protocol);
        assert.equal(asked!.headers['content-length'], (headers as Record<string, string>)['content-length']);
      }
      // Nobody takes it: its sender is held up long before it is through.
      const held = upload(flunders, { 'x-hold': 'yes' });
      let written = 0;
      const fill = (): void => {
        while (written++ < 64 && held.out.write(piece));
        if (written < 64) held.out.once('drain', fill);
      };
      held.status.catch(() => undefined);
      fill();
      await eventually(async () => {
        const at = written;
        await new Promise((resolve) => setTimeout(resolve, 200));
        assert.equal(written, at);
      });
      assert.ok(written < 32, `${protocol}: ${written} MB`);
      held.out.destroy();
      // Its sender leaves in the middle: the other server is not told that this was all.
      asked = undefined;
      const leaving = upload(flunders);
      leaving.status.catch(() => undefined);
      leaving.out.write(piece);
      await eventually(() => assert.equal(taken, piece.length));
      const left = new Promise<void>((resolve) => asked!.on('error', () => resolve()).on('close', resolve));
      leaving.out.destroy();
      await left;
      const { complete, stream } = asked as unknown as Partial<Http2ServerRequest>;
      assert.ok(stream === undefined ? complete === false : stream.rstCode !== 0, protocol);
    }
  } finally {
    await close();
  }
});

test('a server that has heard enough answers early, and one that resets harms nobody', async () => {
  const { clients, close } = await uploaders();
  const piece = Buffer.alloc(1 << 20, 'x');
  const enough: Readonly<Record<number, (request: IncomingMessage, response: ServerResponse) => void>> = {
    413: (_, response) => void response.writeHead(413, { connection: 'close' }).end('enough'),
    503: (request) => void request.socket.destroy(),
  };
  try {
    for (const [protocol, upload] of Object.entries(clients))
      for (const [expected, answer] of Object.entries(enough)) {
        server.answers.set(flunders, answer);
        const { out, status } = upload(flunders);
        const send = (): void => void (out.destroyed || out.writableEnded || out.write(piece, send));
        send();
        assert.equal(await status, Number(expected), protocol);
        out.destroy();
      }
    // A body of single bytes is as whole as any.
    const got: Buffer[] = [];
    server.answers.set(flunders, (request, response) => {
      request.on('data', (data: Buffer) => got.push(data));
      request.on('end', () => response.writeHead(201).end('{}'));
    });
    const { out, status } = clients['http1']!(flunders);
    for (const byte of 'drop by drop') out.write(byte);
    out.end();
    assert.equal(await status, 201);
    assert.equal(String(Buffer.concat(got)), 'drop by drop');
    await eventually(() => assert.ok(server.open() <= 9, String(server.open())));
  } finally {
    await close();
  }
});
