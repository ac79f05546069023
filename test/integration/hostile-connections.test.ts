// Clients that abuse the connection itself, on the real server with a real TLS port: it lives on, and forgets them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { after, before, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { admin, startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { type TestServing, testServing } from '../../src/apiserver/testing/test-serving.ts';
import { createHttpServer } from '../../src/wire/http-server.ts';
import { eventually } from '../harness/eventually.ts';

let serving: TestServing;
let server: TestServer;
before(async () => {
  serving = await testServing();
  server = await startTestServer({
    listen: serving,
    authenticator: { authenticate: () => ({ ...admin, groups: ['system:authenticated'] }) },
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
    flowControl: { total: 30 },
  });
});
after(() => server.close());

const configmaps = '/api/v1/namespaces/default/configmaps';
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

function open(protocol: 'h2' | 'http/1.1'): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      { port: server.port, host: '127.0.0.1', ca: serving.caPem, ALPNProtocols: [protocol] },
      () => resolve(socket),
    );
    socket.on('error', reject);
  });
}
/** Sends bytes and answers what came back before the server hung up. */
async function exchange(protocol: 'h2' | 'http/1.1', bytes: Buffer): Promise<Buffer> {
  const socket = await open(protocol);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(chunks)));
    socket.write(bytes);
  });
}
const session = (): ClientHttp2Session => {
  const made = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: serving.caPem });
  made.on('error', () => {});
  return made;
};
function ask(
  client: ClientHttp2Session,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const stream = client.request(headers, { endStream: body === undefined });
    let status = 0;
    let text = '';
    stream.on('response', (answer) => {
      status = Number(answer[':status']);
    });
    stream.on('data', (chunk) => {
      text += String(chunk);
    });
    stream.on('error', reject);
    stream.on('close', () => resolve({ status, text }));
    if (body !== undefined) stream.end(body);
  });
}
async function alive(): Promise<void> {
  const client = session();
  assert.equal((await ask(client, { ':path': '/livez' })).text, 'ok');
  client.destroy();
}
/** Waits, with requests as its clock, until the process holds no more descriptors than before. */
async function descriptorsBackTo(before: number): Promise<void> {
  const count = (): number => readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 200 && count() > before + 10; i++) await alive();
  assert.ok(count() <= before + 10, `${count()} descriptors, ${before} before`);
}

test('HTTP/2 frames that break the protocol end their connection only', async () => {
  const settings = frame(4, 0, 0);
  const increment = Buffer.alloc(4);
  increment.writeUInt32BE(0x7fffffff);
  const windowSetting = Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff]);
  const request = Buffer.from([0x82, 0x87, 0x84, 0x41, 0x01, 0x78]);
  const attacks: Record<string, Buffer> = {
    'no preface': Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    'a frame of 16 MiB': Buffer.concat([
      preface,
      settings,
      Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
    ]),
    'a window past 2^31': Buffer.concat([
      preface,
      settings,
      frame(8, 0, 0, increment),
      frame(8, 0, 0, increment),
    ]),
    'an initial window past 2^31': Buffer.concat([preface, frame(4, 0, 0, windowSetting)]),
    'CONTINUATION without end': Buffer.concat([
      preface,
      settings,
      frame(1, 0, 1, request),
      ...Array.from({ length: 5000 }, () =>
        frame(9, 0, 1, Buffer.concat([Buffer.from([0, 1, 0x61, 0x7f, 0x80, 1]), Buffer.alloc(255, 0x61)])),
      ),
    ]),
    'DATA on a stream that never was': Buffer.concat([preface, settings, frame(0, 0, 7, Buffer.alloc(10))]),
    'a header block that is no HPACK': Buffer.concat([
      preface,
      settings,
      frame(1, 5, 1, Buffer.alloc(100, 0xff)),
    ]),
    'a PUSH_PROMISE': Buffer.concat([preface, settings, frame(5, 4, 1, Buffer.alloc(8, 1))]),
    'an even stream': Buffer.concat([preface, settings, frame(1, 5, 2, request)]),
  };
  for (const [name, bytes] of Object.entries(attacks)) {
    await exchange('h2', bytes);
    await alive().catch((error: unknown) => assert.fail(`${name}: ${String(error)}`));
  }
});

test('floods of resets, pings and settings end their connection only', async () => {
  const request = Buffer.from([0x82, 0x87, 0x84, 0x41, 0x01, 0x78]);
  const resets: Buffer[] = [preface, frame(4, 0, 0)];
  for (let id = 1; id < 10_001; id += 2)
    resets.push(frame(1, 5, id, request), frame(3, 0, id, Buffer.from([0, 0, 0, 8])));
  await exchange('h2', Buffer.concat(resets));
  await alive();
  for (const flood of [frame(6, 0, 0, Buffer.alloc(8)), frame(4, 0, 0)]) {
    const socket = await open('h2');
    socket.on('error', () => {});
    socket.pause();
    socket.write(preface);
    socket.write(frame(4, 0, 0));
    socket.write(Buffer.concat(Array.from({ length: 50_000 }, () => flood)));
    await alive();
    socket.destroy();
  }
});

test('header lists without measure are refused', async () => {
  const client = session();
  await ask(client, { ':path': '/livez', 'x-long': 'a'.repeat(70_000) }).catch(() => {});
  await ask(client, {
    ':path': '/livez',
    ...Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x-${i}`, 'y'])),
  }).catch(() => {});
  client.destroy();
  const query = Array.from({ length: 12_000 }, (_, i) => `a${i}=b`).join('&');
  const asked = session();
  const long = await ask(asked, { ':path': `/api/v1/pods?${query.slice(0, 60_000)}` }).catch(() => ({
    status: 431,
  }));
  assert.ok([200, 431].includes(long.status), String(long.status));
  asked.destroy();
  await alive();
});

test('a packed body is not unpacked, and a long one is refused before it is whole', async () => {
  const client = session();
  const packed = await ask(
    client,
    {
      ':path': configmaps,
      ':method': 'POST',
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    gzipSync(Buffer.alloc(50_000_000, 0x20)),
  );
  assert.ok(packed.status >= 400 && packed.status < 500, String(packed.status));
  for (const type of [
    'text/plain',
    'application/xml',
    'application/json-patch+json',
    'x',
    'multipart/form-data',
  ]) {
    const { status } = await ask(
      client,
      { ':path': configmaps, ':method': 'POST', 'content-type': type },
      Buffer.from('{}'),
    );
    assert.equal(status, 415, type);
  }
  const large = await ask(
    client,
    { ':path': configmaps, ':method': 'POST', 'content-type': 'application/json' },
    Buffer.alloc(3 * 1024 * 1024 + 1, 0x20),
  );
  assert.equal(large.status, 413);
  assert.equal(
    (JSON.parse(large.text) as { message: string }).message,
    'Request entity too large: limit is 3145728',
  );
  client.destroy();
  const head = `POST ${configmaps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const socket = await open('http/1.1');
  socket.on('error', () => {});
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')]);
  for (let i = 0; i < 60; i++) socket.write(chunk);
  assert.match(await answer, /^HTTP\/1.1 413 /);
  socket.destroy();
  const smuggled = await exchange(
    'http/1.1',
    Buffer.from(
      `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n`,
    ),
  );
  assert.match(String(smuggled), /^HTTP\/1.1 400 /);
  assert.doesNotMatch(String(smuggled), /process_|apiserver_/);
});

test('upgrades to what is not there, or by half, are answered', async () => {
  const head = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  for (const [line, more] of [
    [
      'GET /api/v1/namespaces/default/pods/x/exec?command=id',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
    ],
    ['GET /api/v1/namespaces/default/pods/x/exec', ''],
    ['GET /api/v1/namespaces/default/configmaps', 'Sec-WebSocket-Key: x\r\n'],
    ['POST /api/v1/namespaces/default/configmaps', 'Content-Type: application/json\r\nContent-Length: 2\r\n'],
    ['GET /livez', ''],
    ['GET /', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'],
  ] as const) {
    const socket = await open('http/1.1');
    socket.on('error', () => {});
    socket.write(`${line} HTTP/1.1\r\n${head}${more}\r\n{}`);
    const text = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(String(chunk)));
      socket.once('close', () => resolve(''));
    });
    assert.match(text, /^HTTP\/1.1 [2-4]\d\d /, `${line} ${text.slice(0, 80)}`);
    assert.doesNotMatch(text, /^HTTP\/1.1 101/);
    socket.destroy();
  }
  await alive();
});

test('connections that are cut in the middle leave nothing behind', async () => {
  await alive();
  const before = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 5; round++) {
    const sockets = await Promise.all(
      Array.from({ length: 40 }, (_, i) => open(i % 2 === 0 ? 'h2' : 'http/1.1')),
    );
    sockets.forEach((socket, i) => {
      socket.on('error', () => {});
      if (i % 2 === 0)
        socket.write(
          Buffer.concat([
            preface,
            frame(4, 0, 0),
            frame(1, 4, 1, Buffer.from([0x83, 0x87, 0x84, 0x41, 1, 0x78])),
          ]),
        );
      else
        socket.write(
          `POST ${configmaps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"meta`,
        );
    });
    await alive();
    for (const socket of sockets) socket.destroy();
  }
  await descriptorsBackTo(before);
});

test('a thousand watchers that read nothing cost little and disturb nobody', async () => {
  await server.request('POST', configmaps, { metadata: { name: 'noise' } });
  const before = process.memoryUsage().rss;
  const descriptors = readdirSync('/proc/self/fd').length;
  const silent: TLSSocket[] = [];
  for (let i = 0; i < 20; i++) {
    // Fifty streams on each connection, with a window of nothing.
    const socket = await open('h2');
    socket.on('error', () => {});
    const parts = [preface, frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))];
    const path = Buffer.from(`${configmaps}?watch=true`);
    for (let stream = 1; stream < 100; stream += 2)
      parts.push(
        frame(
          1,
          5,
          stream,
          Buffer.concat([Buffer.from([0x82, 0x87, 0x04, path.length]), path, Buffer.from([0x41, 1, 0x78])]),
        ),
      );
    socket.write(Buffer.concat(parts));
    socket.resume();
    silent.push(socket);
  }
  const client = session();
  const seen = Promise.withResolvers<void>();
  // It is the same user: until the thousand have begun it is told to come again.
  await eventually(async () => {
    const stream = client.request({ ':path': `${configmaps}?watch=true` });
    stream.on('error', seen.reject);
    let text = '';
    stream.on('data', (chunk) => {
      text = (text + String(chunk)).slice(-400_000);
      if (text.includes('"last":"1"')) seen.resolve();
    });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 200);
  });
  const filler = 'x'.repeat(100_000);
  for (let i = 0; i < 200; i++) {
    const data = { filler, ...(i === 199 ? { last: '1' } : { round: String(i) }) };
    const answer = await server.request('PUT', `${configmaps}/noise`, { metadata: { name: 'noise' }, data });
    assert.equal(answer.status, 200, answer.text);
  }
  await seen.promise;
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 250 * 1024 * 1024, `${Math.round(grown / 1e6)} MB`);
  for (const socket of silent) socket.destroy();
  client.destroy();
  await descriptorsBackTo(descriptors);
});

test('more lists at once than there is room for are told to come again', async () => {
  const room = Promise.withResolvers<void>();
  const gate = await startTestServer({
    flowControl: { total: 2 },
    authorizer: {
      authorize: async () => {
        await room.promise;
        return { decision: 'allow', reason: '' };
      },
    },
  });
  const user = { name: 'jane', groups: ['system:authenticated'] };
  let missing = 48;
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const answer = await gate.request('GET', '/api/v1/pods', undefined, { user });
      if (--missing === 0) room.resolve();
      return answer;
    }),
  );
  const refused = answers.filter((a) => a.status === 429);
  assert.equal(answers.filter((a) => a.status === 200).length, 2);
  assert.equal(refused.length, 48);
  assert.ok(
    refused.every((a) => a.headers['retry-after'] === '1'),
    JSON.stringify(refused[0]),
  );
  assert.equal((await gate.request('GET', '/api/v1/pods', undefined, { user })).status, 200);
  await gate.close();
});

test('a connection that asks nothing is let go, one with a request under way is kept', async (t) => {
  let answer = (): void => {};
  const asked = Promise.withResolvers<void>();
  const quiet = createHttpServer({
    tls: serving,
    idleMs: 40,
    handler: async () => {
      const waiting = new Promise<void>((resolve) => {
        answer = resolve;
      });
      asked.resolve();
      await waiting;
      return { status: 200, headers: {}, body: undefined };
    },
  });
  t.after(() => quiet.close(0));
  const { port } = await quiet.listen(0, '127.0.0.1');
  const connected = (): ClientHttp2Session =>
    connectHttp2(`https://127.0.0.1:${port}`, { ca: serving.caPem });
  const busy = connected();
  const stream = busy.request({ ':path': '/' });
  await asked.promise;
  const idle = connected();
  await new Promise((resolve) => idle.once('close', resolve));
  assert.equal(busy.closed, false);
  const answered = new Promise((resolve) =>
    stream.once('response', (headers) => resolve(headers[':status'])),
  );
  answer();
  assert.equal(await answered, 200);
  stream.resume();
  await new Promise((resolve) => busy.once('close', resolve));
});
