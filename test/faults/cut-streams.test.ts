// Every kind of stream is cut at random places, by the client and behind the server's back: nothing ends, nothing is left open.
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { configmaps } from '../../src/api/generated/resources.ts';
import { admin, startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { type TestServing, testServing } from '../../src/apiserver/testing/test-serving.ts';
import { createClient } from '../../src/client/create-client.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { requestPath } from '../../src/kubelet/server/request-attributes.ts';
import type { KubeletServerDeps } from '../../src/kubelet/server/route.ts';
import { routeRequest } from '../../src/kubelet/server/routes.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';
import { type DnsListener, listenDns } from '../../src/wire/dns-sockets.ts';
import { createHttpServer, type HttpServer } from '../../src/wire/http-server.ts';
import { eventually } from '../harness/eventually.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const cutsOfEach = 90;
const atOnce = 6;
const patience = { timeoutMs: 60_000 };

/** The same cuts in each run. */
let seed = 20_261_122;
function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

const scratch = scratchDirectory('cuts');
const logPath = join(scratch.path, 'spam.log');
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
/** Sockets behind the API server: of the kubelet and of the runtime. Cut as well. */
const behind = new Set<Socket>();
const keep = (socket: Socket): void => {
  behind.add(socket);
  socket.on('error', () => undefined);
  socket.on('close', () => behind.delete(socket));
};

let serving: TestServing;
let api: TestServer;
let kubelet: HttpServer;
let kubeletPort: number;
let runtime: Server;
let dns: DnsListener;

/** A container runtime's streaming server: SPDY data on the first streams, as fast as they are taken. */
function startRuntime(): Promise<Server> {
  const data = (stream: number): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(stream, 0);
    head.writeUInt32BE(4000, 4);
    return Buffer.concat([head, Buffer.alloc(4000, 'x')]);
  };
  /** Without headers. */
  const synReply = (stream: number): Buffer => Buffer.from([0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, stream]);
  const server = createServer();
  server.on('connection', keep);
  server.on('upgrade', (_request, socket: Duplex) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n',
    );
    socket.on('error', () => undefined);
    socket.resume();
    for (const stream of [1, 3, 5, 7]) socket.write(synReply(stream));
    const flood = (): void => {
      if (socket.destroyed) return;
      let more = true;
      for (let i = 0; i < 8 && more; i++) more = socket.write(data([1, 3, 5, 7][i & 3]!));
      if (more) setImmediate(flood);
      else socket.once('drain', flood);
    };
    flood();
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function kubeletDeps(): KubeletServerDeps {
  const url = async (): Promise<string> =>
    `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/stream`;
  const worker = {
    uid: 'u',
    pod: { metadata: { name: 'web' }, spec: { containers: [{ name: 'c', image: 'x' }] } },
    observed: {
      containers: [{ id: 'id', name: 'c', state: 'running', logPath }],
      sandboxes: [{ id: 's', ready: true }],
    },
  };
  return {
    ctx: {
      clock: systemClock,
      cri: { runtime: { exec: url, attach: url, portForward: url } },
      status: { get: () => undefined },
    },
    workers: { find: () => worker, list: () => [] },
    host: { files: linuxFiles },
  } as unknown as KubeletServerDeps;
}

before(async () => {
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  const line = `2026-01-01T00:00:00.000000000Z stdout F ${'spam '.repeat(12)}\n`;
  writeFileSync(logPath, line.repeat(30_000));
  serving = await testServing();
  runtime = await startRuntime();
  const deps = kubeletDeps();
  kubelet = createHttpServer({
    handler: (request) => routeRequest(deps, request, requestPath(request.url)!),
    tls: undefined,
  });
  kubeletPort = (await kubelet.listen(0, '127.0.0.1')).port;
  api = await startTestServer({
    listen: serving,
    authenticator: { authenticate: () => admin },
    restStorage: streamingStorage({
      isMachine: () => false,
      random: systemRandom,
      connection: () => ({ host: '127.0.0.1', port: kubeletPort }),
    }),
  });
  await api.request('POST', '/api/v1/nodes', { metadata: { name: 'n1' } });
  await api.request('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'web' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'x' }] },
  });
  for (let i = 0; i < 400; i++)
    await api.request('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: `c${i}` },
      data: { text: `${i}`.repeat(2000) },
    });
  dns = await listenDns({
    address: '127.0.0.1',
    port: 0,
    handle: async (packet) => {
      await turns(random(3));
      return Buffer.concat([packet, Buffer.alloc(2000)]);
    },
  });
});
after(async () => {
  await dns.close();
  await api.close();
  await kubelet.close(0);
  runtime.closeAllConnections();
  runtime.close();
  scratch.remove();
  process.off('unhandledRejection', note);
  process.off('uncaughtException', note);
});

type Target = 'api' | 'kubelet' | 'dns';
type Cut = () => Promise<void>;

/** Sends, and leaves: at once, after some bytes, unread, half, or after a while. */
function overSocket(target: Target, bytes: () => Buffer): Cut {
  return () =>
    new Promise((resolve) => {
      const socket =
        target === 'api'
          ? connectTls({ port: api.port, host: '127.0.0.1', ca: serving.caPem, ALPNProtocols: ['http/1.1'] })
          : connectTcp({ port: target === 'dns' ? dns.port : kubeletPort, host: '127.0.0.1' });
      const cut = (): void => void socket.destroy();
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
      socket.once(target === 'api' ? 'secureConnect' : 'connect', () => {
        socket.write(bytes());
        const way = random(6);
        if (way === 0) cut();
        else if (way === 1) void turns(random(60)).then(cut);
        else if (way === 2) {
          socket.pause();
          void turns(20 + random(60)).then(cut);
        } else if (way === 3) {
          socket.resume();
          socket.end();
          void turns(20 + random(40)).then(cut);
        } else {
          let left = 1 + random(way === 4 ? 2_000 : 400_000);
          socket.on('data', (chunk: Buffer) => {
            left -= chunk.length;
            if (left <= 0) cut();
          });
          void turns(400).then(cut);
        }
      });
    });
}

const request = (method: string, path: string, headers: readonly string[] = [], body = ''): Buffer =>
  Buffer.from([`${method} ${path} HTTP/1.1`, 'Host: x', ...headers, '', body].join('\r\n'));
const webSocket = (protocol: string): string[] => [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  `Sec-WebSocket-Protocol: ${protocol}`,
];
const spdy = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];

let session: ClientHttp2Session | undefined;
function openSession(): ClientHttp2Session {
  if (session && !session.closed && !session.destroyed) return session;
  session = connectHttp2(`https://127.0.0.1:${api.port}`, { ca: serving.caPem });
  session.on('error', () => undefined);
  session.setMaxListeners(0);
  return session;
}

/** A stream among others; now and then all of its connection goes. */
function overHttp2(method: string, path: string, headers: Record<string, string> = {}, body?: Buffer): Cut {
  return () =>
    new Promise((resolve) => {
      const own = openSession();
      const stream = own.request({ ':method': method, ':path': path, ...headers }, { endStream: !body });
      stream.on('error', () => undefined);
      stream.on('close', () => resolve());
      // A request that was still waiting for its connection is told nothing.
      own.once('close', () => resolve());
      if (body) stream.write(body);
      const way = random(12);
      const cut = (): void => {
        if (way === 0) own.destroy();
        else if (way < 6) stream.close(8, () => stream.destroy());
        else stream.destroy();
      };
      if (way % 3 === 0) void turns(random(50)).then(cut);
      else if (way % 3 === 1) void turns(random(5)).then(cut);
      else {
        let left = 1 + random(300_000);
        stream.on('data', (chunk: Buffer) => {
          left -= chunk.length;
          if (left <= 0) cut();
        });
        void turns(300).then(cut);
      }
    });
}

const pod = '/api/v1/namespaces/default/pods/web';
const all = '/api/v1/namespaces/default/configmaps';
const watch = `${all}?watch=true`;
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const protobuf = 'application/vnd.kubernetes.protobuf;stream=watch';
const half = '{"metadata":{"name":"never"},"data":{"a":"';
const streams = 'stdin=true&stdout=true&stderr=true';

const kinds: Readonly<Record<string, Cut>> = {
  'logs, HTTP/1.1': overSocket('api', () => request('GET', `${pod}/log`)),
  'logs, HTTP/2': overHttp2('GET', `${pod}/log`),
  'logs -f, HTTP/1.1': overSocket('api', () => request('GET', `${pod}/log?follow=true&tailLines=2000`)),
  'logs -f, HTTP/2': overHttp2('GET', `${pod}/log?follow=true&tailLines=2000`),
  'logs at the kubelet': overSocket('kubelet', () =>
    request('GET', '/containerLogs/default/web/c?follow=true'),
  ),
  'exec, WebSocket': overSocket('api', () =>
    request('GET', `${pod}/exec?command=cat&${streams}`, webSocket('v5.channel.k8s.io')),
  ),
  'exec, SPDY (cp)': overSocket('api', () => request('POST', `${pod}/exec?command=tar&${streams}`, spdy)),
  'attach, WebSocket': overSocket('api', () =>
    request('GET', `${pod}/attach?${streams}`, webSocket('v4.channel.k8s.io')),
  ),
  'port-forward, WebSocket': overSocket('api', () =>
    request('GET', `${pod}/portforward?ports=80`, webSocket('SPDY/3.1+portforward.k8s.io')),
  ),
  'port-forward, SPDY': overSocket('api', () => request('POST', `${pod}/portforward`, spdy)),
  'exec at the kubelet': overSocket('kubelet', () =>
    request('POST', '/exec/default/web/c?command=a&output=1', spdy),
  ),
  'proxy, HTTP/1.1': overSocket('api', () =>
    request('GET', '/api/v1/nodes/n1/proxy/containerLogs/default/web/c'),
  ),
  'proxy, HTTP/2': overHttp2('GET', '/api/v1/nodes/n1/proxy/containerLogs/default/web/c?follow=true'),
  'watch in JSON, HTTP/1.1': overSocket('api', () => request('GET', watch)),
  'watch in JSON, HTTP/2': overHttp2('GET', watch),
  'watch of a table': overHttp2('GET', watch, { accept: table }),
  'watch in protobuf': overHttp2('GET', watch, { accept: protobuf }),
  'LIST, HTTP/1.1': overSocket('api', () => request('GET', all)),
  'LIST, HTTP/2': overHttp2('GET', all),
  'LIST, compressed': overHttp2('GET', all, { 'accept-encoding': 'gzip' }),
  'upload, HTTP/1.1': overSocket('api', () =>
    request(
      'POST',
      all,
      ['Content-Type: application/json', 'Content-Length: 500000'],
      half.padEnd(random(90_000), 'x'),
    ),
  ),
  'upload, HTTP/2': overHttp2('POST', all, { 'content-type': 'application/json' }, Buffer.from(half)),
  'DNS over TCP': overSocket('dns', () => {
    const packet = Buffer.concat([Buffer.from([0, 30]), Buffer.alloc(30)]);
    const many = Buffer.concat(Array.from({ length: 1 + random(20) }, () => packet));
    return many.subarray(0, 1 + random(many.length));
  }),
};

async function strike(cut: Cut, times: number): Promise<void> {
  let left = times;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      await cut();
      // Now and then the other side goes away as well.
      if (random(4) === 0) [...behind][random(Math.max(behind.size, 1))]?.destroy();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const descriptors = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // the one of the listing
    }
  });
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
async function settledHeap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await turns(5);
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

test('thousands of cuts of every kind of stream leave no descriptor, no memory and no unhandled error', {
  timeout: 600_000,
}, async (t) => {
  for (const cut of Object.values(kinds)) await strike(cut, 10);
  session?.destroy();
  const closed = async (): Promise<number> => {
    await eventually(() => {
      assert.equal(descriptors().filter((target) => target === logPath).length, 0, 'the log is open');
      assert.equal(behind.size, 0, 'a connection behind the server is open');
    }, patience);
    return descriptors().length;
  };
  const fdsBefore = await closed();
  const heapBefore = await settledHeap();
  let cuts = 0;
  for (const [kind, cut] of Object.entries(kinds)) {
    await strike(cut, cutsOfEach);
    cuts += cutsOfEach;
    assert.deepEqual(unhandled, [], kind);
  }
  session?.destroy();
  const leftOver = await closed();
  await eventually(
    () => assert.ok(descriptors().length <= fdsBefore, `${descriptors().length} descriptors`),
    patience,
  );
  const heap = await settledHeap();
  assert.deepEqual(unhandled, []);
  t.diagnostic(
    `${cuts} cuts of ${Object.keys(kinds).length} kinds; descriptors ${fdsBefore} before, ${leftOver} after; heap ${heapBefore.toFixed(1)} MB before, ${heap.toFixed(1)} MB after`,
  );
  assert.ok(heap < heapBefore + 16, `the heap went from ${heapBefore.toFixed(1)} to ${heap.toFixed(1)} MB`);
  const { status } = await api.request('GET', '/api/v1/nodes/n1');
  assert.equal(status, 200);
});

/** Passes bytes on to the server; what goes through it can be cut. */
function relay(): Promise<{ readonly port: number; cut(): number; close(): void }> {
  const open = new Set<Socket>();
  const server = createTcpServer((near) => {
    const far = connectTcp({ port: api.port, host: '127.0.0.1' });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
  });
  const cut = (): number => {
    const count = open.size;
    for (const socket of open) socket.destroy();
    return count;
  };
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        cut,
        close: () => {
          server.close();
          cut();
        },
      }),
    ),
  );
}

test('an informer whose connection is cut again and again has every object in the end', {
  timeout: 300_000,
}, async (t) => {
  const between = await relay();
  const transport = httpTransport(systemClock, {
    server: `https://127.0.0.1:${between.port}`,
    ca: Buffer.from(serving.caPem),
  });
  const informers = frozenInformers({
    client: createClient(transport),
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  const informer = informers.informer(configmaps);
  informers.start();
  let cuts = 0;
  const made: string[] = [];
  try {
    for (let i = 0; i < 40; i++) {
      const name = `later-${i}`;
      await api.request('POST', all, { metadata: { name } });
      made.push(name);
      await turns(random(200));
      cuts += between.cut();
      await new Promise((resolve) => setTimeout(resolve, random(100)));
    }
    await eventually(() => {
      const known = new Set(informer.lister.list().map(({ metadata }) => metadata.name));
      assert.deepEqual(
        made.filter((name) => !known.has(name)),
        [],
      );
    }, patience);
    assert.ok(cuts > 0);
    t.diagnostic(`${cuts} sockets cut, ${made.length} objects made meanwhile, all known`);
    assert.deepEqual(unhandled, []);
  } finally {
    await informers.stop();
    await transport.close();
    between.close();
  }
});
