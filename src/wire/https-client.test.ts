// A question ends with its own signal, also while it waits for a connection; nobody's idle connections keep others away.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { HttpsClient, type HttpsTarget } from './https-client.ts';

test('a question that waits for a connection ends with its own signal, not with the question before it', async () => {
  const silent = createServer(() => {});
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 1, maxAllConnections: 1 });
  const ended: string[] = [];
  const ask = (name: string): { leave: () => void; end: Promise<unknown> } => {
    const controller = new AbortController();
    const question = { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0) };
    const asked = client.ask({ host: '127.0.0.1', port }, { ...question, signal: controller.signal });
    const end = assert.rejects(asked, { message: `${name} left` }).then(() => ended.push(name));
    return { leave: () => controller.abort(new Error(`${name} left`)), end };
  };

  const connected = once(silent, 'connection');
  const first = ask('first');
  await connected;
  const second = ask('second');
  second.leave();
  await new Promise(setImmediate);
  assert.deepEqual(ended, ['second']);
  // The place of the first is for the third: who left takes none.
  const third = ask('third');
  const again = once(silent, 'connection');
  first.leave();
  await again;
  third.leave();
  await Promise.all([first.end, second.end, third.end]);
  assert.deepEqual(ended, ['second', 'first', 'third']);
  const late = new AbortController();
  late.abort(new Error('late'));
  await assert.rejects(
    client.ask(
      { host: '127.0.0.1', port },
      { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0), signal: late.signal },
    ),
    { message: 'late' },
  );
  client.close();
  silent.close();
});

test('a client that is closed lets nobody wait: who has no place yet asks nobody any more', async (t) => {
  const silent = createServer((socket) => void socket.on('error', () => {}));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  let connections = 0;
  silent.on('connection', () => connections++);
  const connected = once(silent, 'connection');
  const target = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 1, maxAllConnections: 1 });
  const question = { method: 'GET', path: '/', headers: {}, body: '', signal: new AbortController().signal };
  const asked = Array.from({ length: 20 }, () => client.ask(target, question));
  await connected;
  client.close();
  for (const one of asked) await assert.rejects(one, { message: 'http: the client is closed' });
  await assert.rejects(client.ask(target, question), { message: 'http: the client is closed' });
  assert.equal(connections, 1);
});

interface Counted {
  readonly ask: (client: HttpsClient, more?: Partial<HttpsTarget>) => Promise<number>;
  /** How many connections are open, and how many were opened. */
  readonly open: () => number;
  readonly opened: () => number;
}

const [notBefore, notAfter] = [Date.now() - 60_000, Date.now() + 3_600_000];
const authority = createCertificateAuthority({ commonName: 'test', notBefore, notAfter });

async function answering(t: TestContext): Promise<Counted> {
  const usage = {
    commonName: 'server',
    usages: ['server'],
    ips: ['127.0.0.1'],
    notBefore,
    notAfter,
  } as const;
  const { certificatePem, privateKeyPem } = await issueCertificate(await authority, usage);
  const server = createHttpsServer({ cert: certificatePem, key: privateKeyPem }, (_request, response) => {
    response.end();
  });
  let [open, opened] = [0, 0];
  server.on('connection', (socket) => {
    open++;
    opened++;
    socket.once('close', () => open--);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, ca: (await authority).certificatePem };
  const question = { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0) };
  return {
    ask: async (client, more = {}) =>
      (await client.ask({ ...target, ...more }, { ...question, signal: AbortSignal.timeout(20_000) })).status,
    open: () => open,
    opened: () => opened,
  };
}

test('idle connections make room for a server that has none; who is asked again keeps its own', async (t) => {
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 4, maxAllConnections: 4 });
  t.after(() => client.close());
  const [many, other] = [await answering(t), await answering(t)];
  await Promise.all([1, 2, 3, 4].map(() => many.ask(client)));
  assert.equal(many.open(), 4);
  assert.equal(await other.ask(client), 200);
  assert.equal(await other.ask(client), 200);
  assert.equal(await many.ask(client), 200);
  assert.deepEqual([many.opened(), other.opened(), many.open(), other.open()], [4, 1, 3, 1]);
});

test('servers asked together take turns in few connections, and none is kept beyond them', async (t) => {
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 2, maxAllConnections: 3 });
  t.after(() => client.close());
  const servers = await Promise.all([answering(t), answering(t), answering(t)]);
  const asked = servers.flatMap((server) => Array.from({ length: 20 }, () => server.ask(client)));
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]));
  const open = (): number => servers.reduce((sum, server) => sum + server.open(), 0);
  while (open() > 3) await new Promise(setImmediate);
  const opened = servers.map((server) => server.opened());
  assert.ok(Math.max(...opened) <= 20, `${opened}`);
});

test('a client that is released answers what is under way, and keeps no connection', async (t) => {
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 4, maxAllConnections: 4 });
  t.after(() => client.close());
  const server = await answering(t);
  await server.ask(client);
  const asked = [server.ask(client), server.ask(client)];
  client.release();
  assert.deepEqual(await Promise.all(asked), [200, 200]);
  while (server.open() > 0) await new Promise(setImmediate);
});

test('a connection answers only those who believe as much, and are the same', async (t) => {
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 8, maxAllConnections: 8 });
  t.after(() => client.close());
  const server = await answering(t);
  const lifetime = { notBefore, notAfter };
  const stranger = await createCertificateAuthority({ commonName: 'test', ...lifetime });
  const { certificatePem: certificate, privateKeyPem: key } = await issueCertificate(stranger, {
    commonName: 'client',
    usages: ['client'],
    ...lifetime,
  });
  const unknown = {
    message: 'tls: failed to verify certificate: x509: certificate signed by unknown authority',
  };
  const rows: readonly (readonly [opened: number, more: Partial<HttpsTarget>])[] = [
    [1, {}],
    [1, { ca: `${(await authority).certificatePem}` }],
    [2, { client: { certificate, key } }],
    [2, { client: { certificate, key } }],
    [3, { verify: false }],
    [3, { verify: false }],
    [3, {}],
  ];
  for (const [opened, more] of rows) {
    assert.equal(await server.ask(client, more), 200);
    assert.equal(server.opened(), opened);
  }
  await assert.rejects(server.ask(client, { ca: stranger.certificatePem }), unknown);
  await assert.rejects(server.ask(client, { ca: undefined }), unknown);
  await assert.rejects(server.ask(client, { serverName: 'other' }), {
    message: 'tls: failed to verify certificate: x509: certificate is not valid for other',
  });
  await assert.rejects(server.ask(client, { serverName: '127.0.0.2' }), {
    message: 'tls: failed to verify certificate: x509: certificate is not valid for 127.0.0.2',
  });
  // Authorities without end are not kept, and those of before are still told apart.
  const { certificatePem } = await authority;
  for (let i = 0; i < 300; i++)
    await assert.rejects(server.ask(client, { ca: `${'\n'.repeat(i)}${stranger.certificatePem}` }), unknown);
  assert.equal(await server.ask(client, { ca: certificatePem }), 200);
  assert.equal(await server.ask(client), 200);
});
