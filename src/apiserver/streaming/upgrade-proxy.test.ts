// A WebSocket or SPDY that the API server passes on, to a pod's own server too: its client is asked whether it is there.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { SessionClients } from '../../wire/session-clients.ts';
import { unaskedAnswer } from '../../wire/spdy-boundaries.ts';
import { unaskedPong } from '../../wire/websocket-boundaries.ts';
import type { ApiRequest } from '../http.ts';
import { wholeBody } from '../testing/whole-body.ts';
import { passUpgrade } from './upgrade-proxy.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

/** Where to connect to, and the protocols whose connections have ended. */
async function proxied(t: TestContext): Promise<{ port: number; ended: Set<string> }> {
  const behind: Socket[] = [];
  const pod = createServer().on('upgrade', ({ headers }, socket: Socket) => {
    behind.push(socket.on('error', () => undefined)); // reads nothing
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`,
    );
  });
  const clients = new SessionClients(5);
  const ended = new Set<string>();
  const front = createServer().on('upgrade', ({ method, headers }, socket: Socket, head) => {
    socket.on('error', () => undefined).once('close', () => ended.add(headers.upgrade!));
    const request = { method, headers, upgrade: { socket, head } } as unknown as ApiRequest;
    const sent = { connection: 'Upgrade', upgrade: headers.upgrade! };
    void passUpgrade(request, { host: '127.0.0.1', port: portOf(pod) }, '/', sent, clients);
  });
  for (const server of [pod, front]) await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of behind) socket.destroy();
    for (const server of [pod, front]) server.close();
  });
  return { port: portOf(front), ended };
}

/** Sends more than all buffers on its way take. */
async function flooding(port: number, protocol: string): Promise<{ client: Socket; got(): Buffer }> {
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  client.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  await once(client, 'data');
  const parts: Buffer[] = [];
  client.on('data', (data: Buffer) => void parts.push(data));
  client.write(Buffer.alloc(64_000_000));
  return { client, got: () => Buffer.concat(parts) };
}

test('who waits behind full buffers is asked as the protocol allows, and let go when it left', {
  timeout: 120_000,
}, async (t) => {
  const { port, ended } = await proxied(t);
  const unknown = await flooding(port, 'else/1');
  const asked = { websocket: unaskedPong, 'SPDY/3.1': unaskedAnswer };
  for (const [protocol, question] of Object.entries(asked)) {
    const { client, got } = await flooding(port, protocol);
    while (got().length < 3 * question.length) await turn();
    assert.deepEqual(got().subarray(0, question.length), question);
    assert.ok(!ended.has(protocol), 'it is there');
    client.destroy();
    while (!ended.has(protocol)) await turn();
  }
  assert.equal(unknown.got().length, 0, 'nothing is put into what is not known');
  unknown.client.destroy();
});

test('who asks in vain for another protocol gets all of the answer, with its headers', async (t) => {
  const page = Buffer.alloc(200_000, 'a');
  const pod = createServer((_, response) => response.writeHead(200, { 'x-of': 'the pod' }).end(page));
  // As a server that knows no other protocol.
  (pod as unknown as { shouldUpgradeCallback: () => boolean }).shouldUpgradeCallback = () => false;
  await once(pod.listen(0, '127.0.0.1'), 'listening');
  t.after(() => pod.close());
  const headers = { connection: 'Upgrade', upgrade: 'h2c' };
  const upgrade = { socket: new PassThrough(), head: Buffer.alloc(0) };
  const request = { method: 'GET', headers, upgrade } as unknown as ApiRequest;
  const answer = await passUpgrade(request, { host: '127.0.0.1', port: portOf(pod) }, '/', headers);
  assert.deepEqual([answer.status, answer.headers['x-of']], [200, 'the pod']);
  assert.ok((await wholeBody(answer.body)).equals(page));
});

test('a token among the subprotocols stays here; what is asked for beside it goes on', async (t) => {
  const seen: (string | undefined)[] = [];
  const pod = createServer();
  pod.on('upgrade', (request, socket) => {
    seen.push(request.headers['sec-websocket-protocol']);
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
  await once(pod.listen(0, '127.0.0.1'), 'listening');
  t.after(() => pod.close());
  const token = 'base64url.bearer.authorization.k8s.io.dA';
  for (const offered of [`${token}, v4.channel.k8s.io`, 'a,b', token]) {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': offered };
    const upgrade = { socket: new PassThrough(), head: Buffer.alloc(0) };
    const request = { method: 'GET', headers, upgrade } as unknown as ApiRequest;
    await wholeBody((await passUpgrade(request, { host: '127.0.0.1', port: portOf(pod) }, '/')).body);
  }
  assert.deepEqual(seen, ['v4.channel.k8s.io', 'a,b', undefined]);
});
