// Logs, exec and port-forward through a real server on a port, with a kubelet that speaks SPDY.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createInflate } from 'node:zlib';
import { WebSocket } from 'ws';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';
import { spdyDictionary } from '../../src/wire/spdy-dictionary.ts';

interface OpenStream {
  readonly id: number;
  readonly type: string;
}

/** The kubelet's half: reads SYN_STREAM frames and data, and lets the test answer. */
class FakeSpdyServer {
  readonly streams: OpenStream[] = [];
  readonly #socket: Duplex;
  readonly #inflate = createInflate({ dictionary: spdyDictionary });
  #inflated: Buffer = Buffer.alloc(0);
  #pending: Buffer = Buffer.alloc(0);
  readonly #ids: number[] = [];
  onStream: (stream: OpenStream) => void = () => {};
  onData: (stream: OpenStream, data: Buffer, end: boolean) => void = () => {};
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#inflate.on('data', (chunk: Buffer) => this.#headers(chunk));
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => {});
    this.#read(head);
  }
  #read(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= 8) {
      const length = this.#pending.readUInt32BE(4) & 0xffffff;
      if (this.#pending.length < 8 + length) return;
      const head = this.#pending.subarray(0, 8);
      const body = this.#pending.subarray(8, 8 + length);
      this.#pending = this.#pending.subarray(8 + length);
      if ((head[0]! & 0x80) !== 0) {
        assert.equal(head.readUInt16BE(0), 0x8003);
        assert.equal(head.readUInt16BE(2), 1);
        this.#ids.push(body.readUInt32BE(0));
        // SYN_REPLY without headers.
        this.#socket.write(Buffer.from([0x80, 3, 0, 2, 0, 0, 0, 4, ...body.subarray(0, 4)]));
        this.#inflate.write(body.subarray(10));
      } else {
        const id = head.readUInt32BE(0);
        this.onData(this.streams.find((s) => s.id === id)!, body, (head[4]! & 1) === 1);
      }
    }
  }
  #headers(chunk: Buffer): void {
    this.#inflated = Buffer.concat([this.#inflated, chunk]);
    // One pair: streamtype and its value.
    const text = this.#inflated;
    if (text.length < 8) return;
    const nameLength = text.readUInt32BE(4);
    if (text.length < 12 + nameLength) return;
    const valueLength = text.readUInt32BE(8 + nameLength);
    const end = 12 + nameLength + valueLength;
    if (text.length < end) return;
    assert.equal(text.subarray(8, 8 + nameLength).toString(), 'streamtype');
    this.#inflated = text.subarray(end);
    const stream = { id: this.#ids.shift()!, type: text.subarray(12 + nameLength, end).toString() };
    this.streams.push(stream);
    this.onStream(stream);
    this.#headers(Buffer.alloc(0));
  }
  send(type: string, data: string, end = false): void {
    const stream = this.streams.find((s) => s.type === type)!;
    const head = Buffer.alloc(8);
    head.writeUInt32BE(stream.id, 0);
    head.writeUInt32BE(data.length, 4);
    head[4] = end ? 1 : 0;
    this.#socket.write(Buffer.concat([head, Buffer.from(data)]));
  }
}

const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n';

async function withKubelet(
  run: (server: TestServer, seen: { url: string; headers: IncomingMessage['headers'] }[]) => Promise<void>,
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<void> {
  const seen: { url: string; headers: IncomingMessage['headers'] }[] = [];
  const kubelet = createServer((request, response) => {
    seen.push({ url: request.url!, headers: request.headers });
    if (request.url!.includes('/waiting/')) {
      response.statusCode = 400;
      response.end('container "c" in pod "waiting" is waiting to start: ContainerCreating');
    } else if (request.url === '/page') {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.setHeader('access-control-allow-origin', '*');
      response.end('<a href="/rewriteme">test</a>');
    } else if (request.url === '/moved') {
      response.writeHead(302, { location: `http://${request.headers.host}/there?x=1` }).end();
    } else {
      response.write('line 1\n');
      response.end('line 2\n');
    }
  });
  const sockets: Duplex[] = [];
  kubelet.on('upgrade', (request, socket, head) => {
    sockets.push(socket);
    seen.push({ url: request.url!, headers: request.headers });
    onUpgrade(request, socket, head);
  });
  await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
  const { port } = kubelet.address() as AddressInfo;
  const server = await startTestServer({
    listen: 'plain',
    restStorage: streamingStorage({
      isMachine: () => false,
      random: systemRandom,
      connection: () => ({ host: '127.0.0.1', port }),
    }),
  });
  try {
    await server.request('POST', '/api/v1/nodes', { metadata: { name: 'n1' } });
    for (const name of ['web', 'waiting'])
      await server.request('POST', '/api/v1/namespaces/default/pods', {
        metadata: { name },
        spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'x' }] },
      });
    await server.request('POST', '/api/v1/namespaces/default/pods', {
      metadata: { name: 'pending' },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    });
    await run(server, seen);
  } finally {
    await server.close();
    for (const socket of sockets) socket.destroy();
    kubelet.closeAllConnections();
    await new Promise((resolve) => kubelet.close(resolve));
  }
}

const get = async (server: TestServer, path: string): Promise<{ status: number; text: string }> => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
  return { status: response.status, text: await response.text() };
};

test('a log is the kubelet’s, and its refusal becomes a Status', async () => {
  await withKubelet(
    async (server, seen) => {
      const pods = '/api/v1/namespaces/default/pods';
      assert.deepEqual(await get(server, `${pods}/web/log?follow=true&tailLines=5`), {
        status: 200,
        text: 'line 1\nline 2\n',
      });
      assert.equal(seen[0]!.url, '/containerLogs/default/web/c?follow=true&tailLines=5');
      assert.equal(seen[0]!.headers.authorization, undefined);
      const waiting = await get(server, `${pods}/waiting/log`);
      assert.equal(waiting.status, 400);
      assert.equal(
        JSON.parse(waiting.text).message,
        'container "c" in pod "waiting" is waiting to start: ContainerCreating',
      );
      const wrong = await get(server, `${pods}/web/log?container=zz`);
      assert.equal(JSON.parse(wrong.text).message, 'container zz is not valid for pod web');
      assert.deepEqual(await get(server, `${pods}/pending/log`), { status: 200, text: '' });
      assert.equal((await get(server, `${pods}/web/log?tailLines=-1`)).status, 422);
      assert.equal((await get(server, `${pods}/none/log`)).status, 404);
    },
    (_, socket) => socket.destroy(),
  );
});

test('exec over WebSocket v5 becomes SPDY toward the kubelet, with stdin that ends and a status', async () => {
  let input = '';
  await withKubelet(
    async (server, seen) => {
      const url = `ws://127.0.0.1:${server.port}/api/v1/namespaces/default/pods/web/exec?command=cat&command=a%20b&stdin=true&stdout=true&stderr=true`;
      const ws = new WebSocket(url, ['v5.channel.k8s.io', 'v4.channel.k8s.io']);
      const got: [number, string][] = [];
      ws.on('message', (data: Buffer) => {
        if (data.length > 1) got.push([data[0]!, data.subarray(1).toString()]);
      });
      await new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject));
      assert.equal(ws.protocol, 'v5.channel.k8s.io');
      ws.send(Buffer.from('\u0000hello'));
      ws.send(Buffer.from([255, 0]));
      const code = await new Promise((resolve) => ws.on('close', resolve));
      assert.equal(code, 1000);
      assert.deepEqual(got.sort(), [
        [1, 'HELLO'],
        [2, 'warn'],
        [3, '{"status":"Success"}'],
      ]);
      assert.equal(seen[0]!.url, '/exec/default/web/c?input=1&output=1&error=1&command=cat&command=a+b');
    },
    (_, socket, head) => {
      socket.write(switching);
      const spdy = new FakeSpdyServer(socket, head);
      let ended = false;
      const answer = (): void => {
        if (!ended || spdy.streams.length < 4) return;
        assert.deepEqual(
          spdy.streams.map((s) => s.type),
          ['error', 'stdin', 'stdout', 'stderr'],
        );
        spdy.send('stdout', input.toUpperCase(), true);
        spdy.send('stderr', 'warn', true);
        spdy.send('error', '{"status":"Success"}', true);
      };
      spdy.onStream = answer;
      spdy.onData = (stream, data, end) => {
        assert.equal(stream.type, 'stdin');
        input += data.toString();
        ended ||= end;
        answer();
      };
    },
  );
});

test('a proxy leads its client through itself: 301 of the bare path, links and locations with its prefix', async () => {
  await withKubelet(
    async (server, seen) => {
      const proxy = '/api/v1/nodes/n1/proxy';
      const ask = (path: string, method = 'GET'): Promise<Response> =>
        fetch(`http://127.0.0.1:${server.port}${path}`, { method, redirect: 'manual' });
      for (const method of ['GET', 'HEAD']) {
        const bare = await ask(`${proxy}?a=b`, method);
        assert.deepEqual([bare.status, bare.headers.get('location')], [301, `${proxy}/?a=b`]);
      }
      assert.equal(seen.length, 0);
      assert.equal((await ask(proxy, 'POST')).status, 200);
      const page = await ask(`${proxy}/page`);
      assert.equal(await page.text(), `<a href="${proxy}/rewriteme">test</a>`);
      assert.equal(page.headers.get('access-control-allow-origin'), null);
      assert.equal(seen.at(-1)!.headers['x-forwarded-uri'], `${proxy}/page`);
      assert.equal((await ask(`${proxy}/moved`)).headers.get('location'), `${proxy}/there?x=1`);
      assert.equal((await ask('/api/v1/nodes/none/proxy')).status, 404);
    },
    (_, socket) => socket.destroy(),
  );
});

/** What a client reads until the server closes: texts as they are, bytes as text. */
async function messagesOf(ws: WebSocket): Promise<{ readonly texts: string[]; readonly code: number }> {
  const texts: string[] = [];
  ws.on('message', (data: Buffer) => void texts.push(data.toString()));
  const code = await new Promise<number>((resolve, reject) => ws.on('close', resolve).on('error', reject));
  return { texts, code };
}

for (const [protocol, status, told] of [
  ['channel.k8s.io', '{"status":"Success"}', undefined],
  ['channel.k8s.io', '{"status":"Failure","message":"exit code 3"}', '\u0003exit code 3'],
  ['', '{"status":"Failure","message":"exit code 3"}', '\u0003exit code 3'],
  ['v4.channel.k8s.io', '{"status":"Success"}', '\u0003{"status":"Success"}'],
] as const)
  test(`exec by ${protocol || 'no protocol'} tells ${status} as ${told ?? 'nothing'}`, async () => {
    await withKubelet(
      async (server) => {
        const url = `ws://127.0.0.1:${server.port}/api/v1/namespaces/default/pods/web/exec?command=x&stdout=true`;
        const ws = new WebSocket(url, protocol === '' ? [] : [protocol]);
        const { texts } = await messagesOf(ws);
        assert.deepEqual(
          texts.filter((text) => text.length > 1),
          ['\u0001out', ...(told === undefined ? [] : [told])],
        );
      },
      (_, socket, head) => {
        socket.write(switching);
        const spdy = new FakeSpdyServer(socket, head);
        spdy.onStream = () => {
          if (spdy.streams.length < 2) return;
          spdy.send('stdout', 'out', true);
          spdy.send('error', status, true);
        };
      },
    );
  });

test('a log and a watch are read by WebSocket: bytes or base64, and a message for each event', async () => {
  await withKubelet(
    async (server) => {
      const base = `ws://127.0.0.1:${server.port}/api/v1/namespaces/default`;
      const log = await messagesOf(new WebSocket(`${base}/pods/web/log`, ['binary.k8s.io']));
      assert.equal(log.texts.join(''), 'line 1\nline 2\n');
      assert.equal(log.code, 1000);
      const coded = await messagesOf(new WebSocket(`${base}/pods/web/log`, ['base64.binary.k8s.io']));
      assert.equal(
        coded.texts.map((text) => Buffer.from(text, 'base64').toString()).join(''),
        'line 1\nline 2\n',
      );
      const watch = await messagesOf(new WebSocket(`${base}/pods?watch=true&timeoutSeconds=1`));
      const events = watch.texts.map(
        (text) => JSON.parse(text) as { type: string; object: { metadata: { name: string } } },
      );
      assert.deepEqual(
        events.map(({ type, object }) => `${type} ${object.metadata.name}`),
        ['ADDED pending', 'ADDED waiting', 'ADDED web'],
      );
      const binary = await messagesOf(
        new WebSocket(`${base}/pods?watch=true&timeoutSeconds=1`, {
          headers: { accept: 'application/vnd.kubernetes.protobuf' },
        }),
      );
      assert.equal(binary.texts.length, 3);
      assert.ok(binary.texts.every((text) => text.includes('ADDED')));
    },
    (_, socket) => socket.destroy(),
  );
});

test('port-forward tunnels bytes both ways, and a pod without a node is refused', async () => {
  await withKubelet(
    async (server) => {
      const base = `ws://127.0.0.1:${server.port}/api/v1/namespaces/default/pods`;
      const socket = connect(server.port, '127.0.0.1');
      socket.write(
        'GET /api/v1/namespaces/default/pods/web/portforward HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n\r\n',
      );
      let got: Buffer = Buffer.alloc(0);
      let sent = false;
      for await (const chunk of socket) {
        got = Buffer.concat([got, chunk as Buffer]);
        if (!sent && got.includes('\r\n\r\n')) {
          sent = true;
          // A masked binary frame of four bytes, with a mask of zeroes.
          socket.write(Buffer.from([0x82, 0x84, 0, 0, 0, 0, ...Buffer.from('ping')]));
        }
        if (got.subarray(-4).toString() === 'ping') break;
      }
      assert.match(got.toString('latin1'), /^HTTP\/1.1 101 /);
      assert.match(got.toString('latin1'), /Sec-WebSocket-Protocol: SPDY\/3\.1\+portforward\.k8s\.io\r\n/);
      assert.deepEqual(got.subarray(-6), Buffer.from([0x82, 4, ...Buffer.from('ping')]));
      socket.destroy();
      const refused = new WebSocket(`${base}/pending/exec?stdout=true&command=x`, ['v5.channel.k8s.io']);
      const message = await new Promise<string>((resolve) => refused.on('error', (e) => resolve(e.message)));
      assert.match(message, /400/);
    },
    (_, socket) => {
      socket.write(switching);
      socket.pipe(socket);
    },
  );
});

test('old clients upgrade to SPDY and their bytes pass through untouched', async () => {
  await withKubelet(
    async (server) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(
        'POST /api/v1/namespaces/default/pods/web/exec?stdout=true&command=x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer secret\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n',
      );
      let text = '';
      for await (const chunk of socket) {
        text += String(chunk);
        if (text.includes('bytes')) break;
        if (text.includes('\r\n\r\n')) socket.write('bytes');
      }
      assert.match(text, /^HTTP\/1.1 101 /);
      socket.destroy();
    },
    (request, socket) => {
      assert.equal(request.headers.authorization, undefined);
      assert.equal(request.headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
      socket.write(switching);
      socket.pipe(socket);
    },
  );
});
