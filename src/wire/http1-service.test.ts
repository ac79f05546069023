// Requests of HTTP/1 as the server reads them: what is a body, a host, a path; as in Go, and nothing after it is a request.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { listening, silent } from './testing/listening-server.ts';

test('HTTP/1.0 with Transfer-Encoding has no body, as in Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async (request) => {
      seen.push(`${request.method} ${request.url} ${(await request.readBody(1000)).length}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const head =
    'POST /first HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
  const rests = [
    '5\r\nhello\r\n0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /second HTTP/1.1\r\nHost: x\r\n\r\n',
    '0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: spdy\r\n\r\n',
  ];
  for (const rest of rests) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.write(head + rest);
    await closed;
    assert.ok(text.split('HTTP/1.1 ').length <= 2, text);
    if (rest === rests[0]) assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  }
  assert.deepEqual(
    seen.filter((one) => one !== 'POST /first 0'),
    [],
  );
  await server.close(0);
});

test('a body in another coding than chunks is answered as by Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async (request) => {
      seen.push(`${request.url} ${(await request.readBody(1000)).length}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const ask = async (coding: string): Promise<string> => {
    const socket = await silent(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const closed = once(socket, 'close');
    const body = '5\r\nhello\r\n0\r\n\r\n';
    socket.write(
      `POST /coded HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${coding}\r\n\r\n${body}GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    await closed;
    return text;
  };
  for (const coding of ['gzip, chunked', 'identity, chunked']) {
    const text = await ask(coding);
    assert.match(text, /^HTTP\/1\.1 501 Not Implemented\r\n/, coding);
    assert.match(text, /\r\nconnection: close\r\n/i, coding);
    assert.ok(text.endsWith('\r\n\r\nUnsupported transfer encoding'), text);
  }
  assert.deepEqual(seen, []);
  await ask('Chunked');
  assert.deepEqual(seen, ['/coded 5', '/second 0']);
  await server.close(0);
});

test('a request without one host is answered as by Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async ({ url, headers }) => {
      seen.push(`${url} ${headers['host'] ?? 'none'}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const ask = async (first: string): Promise<string> => {
    const socket = await silent(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const closed = once(socket, 'close');
    socket.write(`GET /first ${first}\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await closed;
    return text;
  };
  const upgrade = 'Connection: Upgrade\r\nUpgrade: spdy';
  for (const [hosts, said] of [
    ['Host: x\r\nHost: x', ''],
    ['Host: x\r\nhost:', ''],
    [`Host: x\r\nHost: y\r\n${upgrade}`, ''],
    ['X: y', ': missing required Host header'],
    [upgrade, ': missing required Host header'],
    ['Host: a b', ': malformed Host header'],
    ['Host: a@b', ': malformed Host header'],
    ['Host: /', ': malformed Host header'],
  ] as const) {
    const text = await ask(`HTTP/1.1\r\n${hosts}`);
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/, hosts);
    assert.match(text, /\r\nconnection: close\r\n/i, hosts);
    assert.ok(text.endsWith(`\r\n\r\n400 Bad Request${said}`), text);
  }
  assert.deepEqual(seen, []);
  await ask('HTTP/1.1\r\nHost: [fe80::1%25eth0]:6443');
  await ask('HTTP/1.1\r\nHost:');
  await ask('HTTP/1.0\r\nConnection: keep-alive');
  const [named, empty, none] = ['/first [fe80::1%25eth0]:6443', '/first ', '/first none'];
  assert.deepEqual(seen, [named, '/second x', empty, '/second x', none, '/second x']);
  await server.close(0);
});

test('a long request that arrives while a long answer is on its way is read, and answered after it', async () => {
  const long = Buffer.alloc(4 << 20, 'a');
  const { server, port } = await listening({
    handler: async (request) => {
      const sent = await request.readBody(1 << 20);
      return {
        status: 200,
        headers: {},
        body: request.url === '/long' ? long : Buffer.from(`got ${sent.length}`),
      };
    },
  });
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  let answer = '';
  const ended = new Promise((resolve) => socket.once('close', resolve));
  const answered = new Promise((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      // Its head says that the first is on its way: nobody reads on until the second has been sent.
      if (answer === '') {
        socket.pause();
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n${'b'.repeat(300_000)}`,
          () => socket.resume(),
        );
      }
      answer += bytes.toString('latin1');
      if (answer.endsWith('got 300000')) resolve('answered');
    });
  });
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await Promise.race([answered, ended]), 'answered');
  socket.destroy();
  await server.close(0);
});

test('a request that names the whole URL, as of a proxy, is one for its path', async () => {
  const asked: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async ({ url }) => {
      asked.push(url);
      return { status: 200, headers: {}, body: Buffer.from('x') };
    },
  });
  const socket = await silent(port);
  const targets = [
    'http://h:6443/version?a=b',
    'HTTPS://h/a//b',
    'http://h',
    'http://h?a=b',
    '/http://h/x',
    '*',
  ];
  for (const target of targets) {
    socket.write(`${target === '*' ? 'OPTIONS' : 'GET'} ${target} HTTP/1.1\r\nhost: h\r\n\r\n`);
    await once(socket, 'data');
  }
  assert.deepEqual(asked, ['/version?a=b', '/a//b', '/', '/?a=b', '/http://h/x', '*']);
  socket.destroy();
  await server.close(0);
});
