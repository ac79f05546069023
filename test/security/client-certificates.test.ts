// Certificates are looked at with each request, and each authority vouches for its own kind of client alone.
import assert from 'node:assert/strict';
import { connect as http2Connect } from 'node:http2';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { type TestContext, test } from 'node:test';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../../src/crypto/certificates.ts';
import { createHttpServer } from '../../src/wire/http-server.ts';
import { type Caller, certificateOf, dates, hourMs } from '../harness/client-certificates.ts';

const front = await createCertificateAuthority({ commonName: 'front-proxy-ca', ...dates });
const kubelets = await createCertificateAuthority({ commonName: 'kubelet-serving-ca', ...dates });

interface Front {
  readonly port: number;
  readonly ca: KeyPair;
  /** What the server's clock shows more than the machine's. */
  ahead: number;
  /** The authorities that the server believes in now. */
  clientCa: string;
  certificate(caller: Caller): Promise<{ readonly cert: string; readonly key: string }>;
}

async function startFront(t: TestContext): Promise<Front> {
  const ca = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  const state = { ahead: 0, clientCa: ca.certificatePem };
  const plane = await startTestControlPlane({
    authorities: { clientCa: () => state.clientCa, frontProxyCa: () => front.certificatePem },
  });
  const serving = await issueCertificate(ca, {
    commonName: 'kube-apiserver',
    usages: ['server'],
    dnsNames: ['localhost'],
    ips: ['127.0.0.1'],
    ...dates,
  });
  const server = createHttpServer({
    handler: (request) => plane.controlPlane.handle(request),
    clock: { now: () => Date.now() + state.ahead },
    tls: {
      key: serving.privateKeyPem,
      cert: serving.certificatePem,
      clientCa: ca.certificatePem + front.certificatePem,
    },
  });
  const { port } = await server.listen(0, '127.0.0.1');
  t.after(async () => {
    await server.close(100);
    await plane.close();
  });
  return Object.assign(state, {
    port,
    ca,
    certificate: (caller: Caller) => certificateOf(ca, caller),
  });
}

const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const question = JSON.stringify({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  metadata: {},
});

interface Told {
  readonly status: number;
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The server's answer to "who am I". */
function ask(at: Front, options: RequestOptions, headers: readonly string[] = []): Promise<Told> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port: at.port,
        path: whoAmI,
        method: 'POST',
        ca: at.ca.certificatePem,
        agent: false,
        ...options,
        headers: ['host', 'localhost', 'content-type', 'application/json', ...headers],
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const body = JSON.parse(Buffer.concat(parts).toString()) as {
            status?: { userInfo?: { username: string; groups?: string[]; extra?: Record<string, string[]> } };
          };
          const info = body.status?.userInfo;
          resolve({
            status: response.statusCode ?? 0,
            user: info?.username ?? '',
            groups: info?.groups ?? [],
            extra: info?.extra ?? {},
          });
        });
      },
    );
    request.on('error', reject);
    request.end(question);
  });
}

test('a certificate that ended is refused on a connection that is kept', async (t) => {
  const at = await startFront(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const alice = { ...(await at.certificate({ name: 'alice' })), agent };
  assert.equal((await ask(at, alice)).user, 'alice');
  at.ahead = 2 * hourMs;
  assert.equal((await ask(at, alice)).status, 401);
  at.ahead = -2 * hourMs;
  assert.equal((await ask(at, alice)).status, 401, 'not valid yet');
  at.ahead = 0;
  assert.equal((await ask(at, alice)).user, 'alice');
  assert.equal(Object.values(agent.freeSockets).flat().length, 1, 'it was one connection');
});

test('a certificate that ended is refused on an HTTP/2 session', async (t) => {
  const at = await startFront(t);
  const session = http2Connect(`https://127.0.0.1:${at.port}`, {
    ca: at.ca.certificatePem,
    ...(await at.certificate({ name: 'alice' })),
  });
  t.after(() => session.destroy());
  const status = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/api' });
      stream.on('error', reject);
      stream.on('response', (headers) => resolve(Number(headers[':status'])));
      stream.resume();
      stream.end();
    });
  assert.equal(await status(), 200);
  at.ahead = 2 * hourMs;
  assert.equal(await status(), 401);
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  test(`a certificate that ended is refused on a session that is resumed (${version})`, async (t) => {
    const at = await startFront(t);
    const alice = await at.certificate({ name: 'alice' });
    const open = (session?: Buffer): Promise<{ socket: TLSSocket; ticket: Promise<Buffer> }> =>
      new Promise((resolve, reject) => {
        const ticket = new Promise<Buffer>((got) => socketOf().once('session', got));
        const socket = socketOf();
        function socketOf(): TLSSocket {
          made ??= tlsConnect({
            host: '127.0.0.1',
            port: at.port,
            ca: at.ca.certificatePem,
            ...alice,
            minVersion: version,
            maxVersion: version,
            ...(session === undefined ? {} : { session }),
          });
          return made;
        }
        socket.once('error', reject);
        socket.once('secureConnect', () => resolve({ socket, ticket }));
      });
    let made: TLSSocket | undefined;
    const status = async (socket: TLSSocket): Promise<string> =>
      new Promise((resolve) => {
        socket.once('data', (data: Buffer) => resolve(data.toString().slice(0, 12)));
        socket.write('GET /api HTTP/1.1\r\nhost: localhost\r\n\r\n');
      });
    const first = await open();
    assert.equal(await status(first.socket), 'HTTP/1.1 200');
    const ticket = await first.ticket;
    first.socket.destroy();
    made = undefined;
    const again = await open(ticket);
    assert.equal(again.socket.isSessionReused(), true, 'the session is resumed');
    assert.equal(await status(again.socket), 'HTTP/1.1 200');
    again.socket.destroy();
    made = undefined;
    at.ahead = 2 * hourMs;
    const late = await open(ticket);
    assert.equal(late.socket.isSessionReused(), true, 'the session is resumed');
    assert.equal(await status(late.socket), 'HTTP/1.1 401');
    late.socket.destroy();
  });

test('an authority that is taken out of the bundle lets nobody in, on old connections too', async (t) => {
  const at = await startFront(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const alice = { ...(await at.certificate({ name: 'alice' })), agent };
  assert.equal((await ask(at, alice)).user, 'alice');
  const next = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  at.clientCa = at.ca.certificatePem + next.certificatePem;
  assert.equal((await ask(at, alice)).user, 'alice', 'both are believed while they change');
  at.clientCa = next.certificatePem;
  assert.equal((await ask(at, alice)).status, 401);
});

test('who a certificate lets in depends on its authority and its purpose', async (t) => {
  const at = await startFront(t);
  const remote = ['X-Remote-User', 'bob', 'X-Remote-Group', 'dev'];
  const proxy: Caller = { name: 'front-proxy-client', issuer: front };
  const rows: readonly (readonly [string, Caller | undefined, readonly string[], string | 401])[] = [
    ['a client', { name: 'alice' }, [], 'alice'],
    ['a client that sends the headers of a front proxy', { name: 'alice' }, remote, 'alice'],
    ['a client of the name of the front proxy', { name: 'front-proxy-client' }, remote, 'front-proxy-client'],
    ['the front proxy with headers', proxy, remote, 'bob'],
    ['the front proxy without headers', proxy, [], 401],
    ['the front proxy with an empty user', proxy, ['X-Remote-User', '', 'X-Remote-Group', 'dev'], 401],
    ['the front proxy with groups alone', proxy, ['X-Remote-Group', 'system:masters'], 401],
    ['another name of its authority', { name: 'alice', issuer: front }, remote, 401],
    ['an administrator of its authority', { name: 'a', groups: ['system:masters'], issuer: front }, [], 401],
    ['its name for serving', { ...proxy, usages: ['server'] }, remote, 401],
    ['a serving certificate of a client', { name: 'alice', usages: ['server'] }, [], 401],
    [
      "a kubelet's serving certificate",
      { name: 'system:node:a', issuer: kubelets, usages: ['server'] },
      [],
      401,
    ],
    ["a client of the kubelets' authority", { name: 'system:node:a', issuer: kubelets }, [], 401],
    ['nobody with headers', undefined, remote, 401],
    ['a client without a name', { name: '', groups: ['system:masters'] }, [], 401],
  ];
  for (const [who, caller, headers, expected] of rows)
    await t.test(who, async () => {
      const told = await ask(at, caller === undefined ? {} : await at.certificate(caller), headers);
      if (expected === 401) assert.equal(told.status, 401);
      else assert.equal(told.user, expected);
    });
});

test('what a front proxy says is taken word by word', async (t) => {
  const at = await startFront(t);
  const proxy = await at.certificate({ name: 'front-proxy-client', issuer: front });
  const told = await ask(at, proxy, [
    ...['X-Remote-User', 'bob'],
    ...['X-Remote-Group', 'dev, system:masters', 'X-Remote-Group', 'ops'],
    ...['X-Remote-Extra-Example.com%2Fscope', 'one', 'X-Remote-Extra-Example.com%2Fscope', 'two, three'],
  ]);
  assert.deepEqual(told.groups, ['dev, system:masters', 'ops', 'system:authenticated']);
  assert.deepEqual(told.extra, { 'example.com/scope': ['one', 'two, three'] });
});

test('S (low): only forward secrecy and authenticated encryption are offered', async (t) => {
  const at = await startFront(t);
  const cipher = (options: object): Promise<string> =>
    new Promise((resolve) => {
      const socket = tlsConnect({ host: '127.0.0.1', port: at.port, ca: at.ca.certificatePem, ...options });
      socket.once('error', () => resolve('refused'));
      socket.once('secureConnect', () => {
        resolve(socket.getCipher().name);
        socket.destroy();
      });
    });
  const tls12 = { maxVersion: 'TLSv1.2' };
  assert.equal(await cipher({}), 'TLS_AES_128_GCM_SHA256');
  assert.equal(await cipher(tls12), 'ECDHE-ECDSA-AES128-GCM-SHA256');
  for (const ciphers of [
    'ECDHE-ECDSA-AES128-SHA',
    'ECDHE-ECDSA-AES256-SHA384',
    'ECDHE-RSA-AES128-SHA256',
    'AES128-GCM-SHA256',
  ])
    assert.equal(await cipher({ ...tls12, ciphers }), 'refused', ciphers);
  assert.equal(
    await cipher({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    'refused',
  );
});
