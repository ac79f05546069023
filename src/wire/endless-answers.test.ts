// Servers that speak and never come to their answer: who asks them reads a bounded part, for as long as it is wanted.
import assert from 'node:assert/strict';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { BackendError, requestBackend, upgradeBackend } from './backend.ts';
import { probeGrpcHealth } from './probe-grpc.ts';
import { type HttpProbeResult, probeHttp } from './probe-http.ts';
import { probeTcp } from './probe-tcp.ts';

/** Longer than a test may take: what ends a wait is a bound. */
const timeoutMs = 3_600_000;
const { signal: wanted } = new AbortController();
type Scheme = 'HTTP' | 'HTTPS';

interface Serving {
  readonly port: number;
  /** Resolves when a connection was closed. */
  readonly left: Promise<void>;
}

async function serve(t: TestContext, scheme: Scheme, answer: (socket: Socket) => void): Promise<Serving> {
  const left = Promise.withResolvers<void>();
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.once('close', left.resolve);
    answer(socket);
  };
  let server: Server;
  if (scheme === 'HTTP') server = createServer(onSocket);
  else {
    const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
    const authority = await createCertificateAuthority({ commonName: 'test', ...times });
    const pair = await issueCertificate(authority, { commonName: 'server', usages: ['server'], ...times });
    server = createTlsServer({ key: pair.privateKeyPem, cert: pair.certificatePem }, onSocket);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  return { port: (server.address() as AddressInfo).port, left: left.promise };
}

/** `first`, then `again` as fast as it is taken, without end. */
const endless =
  (first: string | Buffer, again: string | Buffer) =>
  (socket: Socket): void => {
    const many = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from(again)));
    const more = (): void => {
      while (!socket.destroyed && socket.write(many));
    };
    socket.on('drain', more);
    socket.once('data', () => {
      if (first.length > 0) socket.write(first);
      more();
    });
  };

const probe = (scheme: Scheme, port: number, signal = wanted): Promise<HttpProbeResult> => {
  const headers = [{ name: 'Host', value: 'pod.example:1' }];
  const request = { scheme, host: '127.0.0.1', port, path: '/x', headers, userAgent: 'test', timeoutMs };
  return probeHttp(request, signal);
};

const many = 'net/http: too many 1xx informational responses';
const long = /^net\/http: server response (headers )?exceeded \d+ bytes; aborted$/;
const floods: readonly [what: string, first: string, again: string, said: RegExp][] = [
  ['informational answers', '', 'HTTP/1.1 102 P\r\n\r\n', new RegExp(`^${many}$`)],
  ['invitations to go on', '', 'HTTP/1.1 100 Continue\r\n\r\n', new RegExp(`^${many}$`)],
  ['empty lines', '', '\r\n', long],
];
const zeros = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

for (const scheme of ['HTTP', 'HTTPS'] as const) {
  for (const [what, first, again, said] of [...floods, ['zeros', zeros, '0', long] as const]) {
    test(`a probe by ${scheme} ends at ${what} without end, and hangs up`, async (t) => {
      const { port, left } = await serve(t, scheme, endless(first, again));
      const { error = '' } = await probe(scheme, port);
      const get = `Get "${scheme.toLowerCase()}://127.0.0.1:${port}/x": `;
      assert.equal(error.slice(0, get.length), get);
      assert.match(error.slice(get.length), said);
      await left;
    });
  }

  test(`a probe by ${scheme} takes five informational answers, an answer, and the end of the connection`, async (t) => {
    const answer = `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(5)}HTTP/1.1 200 OK\r\n\r\nhello`;
    let named: unknown;
    const { port } = await serve(t, scheme, (socket) => {
      named = (socket as TLSSocket).servername;
      socket.once('data', (data: Buffer) => {
        assert.match(data.toString(), /^GET \/x HTTP\/1\.1\r\n/);
        assert.match(data.toString(), /\r\nhost: pod\.example:1\r\n/i);
        socket.end(answer);
      });
    });
    assert.deepEqual(await probe(scheme, port), { status: 200, body: 'hello', location: '' });
    assert.equal(named, scheme === 'HTTPS' ? 'pod.example' : undefined);
  });

  test(`a probe by ${scheme} that nobody wants any more hangs up`, async (t) => {
    const stop = new AbortController();
    const { port, left } = await serve(t, scheme, (socket) => socket.once('data', () => stop.abort()));
    assert.match((await probe(scheme, port, stop.signal)).error ?? '', /: context canceled$/);
    await left;
    assert.match((await probe(scheme, port, stop.signal)).error ?? '', /: context canceled$/);
  });
}

test('a gRPC probe hears that a server serves, or does not, and hangs up', async (t) => {
  for (const [serving, said] of [
    [1, undefined],
    [2, 'service unhealthy (responded with "NOT_SERVING")'],
  ] as const) {
    const server = createHttp2Server();
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, serving]));
    });
    const { port, left } = await serve(t, 'HTTP', (socket) => void server.emit('connection', socket));
    const asked = { address: `127.0.0.1:${port}`, service: 'x', timeoutMs };
    assert.equal(await probeGrpcHealth(asked, wanted), said);
    await left;
  }
});

test('a server of HTTP/2 that never answers but goes on with pings is left by a gRPC probe', async (t) => {
  const frame = (type: number, payload: Buffer): Buffer =>
    Buffer.concat([Buffer.from([0, 0, payload.length, type, 0, 0, 0, 0, 0]), payload]);
  const { port, left } = await serve(
    t,
    'HTTP',
    endless(frame(4, Buffer.alloc(0)), frame(6, Buffer.alloc(8))),
  );
  const failure = await probeGrpcHealth({ address: `127.0.0.1:${port}`, service: '', timeoutMs }, wanted);
  assert.match(failure ?? '', /^error: health rpc probe failed: /);
  await left;
});

test('a gRPC or TCP probe that nobody wants any more ends', async (t) => {
  const stop = new AbortController();
  const { port, left } = await serve(t, 'HTTP', (socket) => socket.once('data', () => stop.abort()));
  const asked = { address: `127.0.0.1:${port}`, service: '', timeoutMs };
  assert.match((await probeGrpcHealth(asked, stop.signal)) ?? '', /^error: health rpc probe failed: 1 CANC/);
  await left;
  assert.match((await probeGrpcHealth(asked, stop.signal)) ?? '', /^error: health rpc probe failed: 1 CANC/);
  const dialling = new AbortController();
  const failure = probeTcp({ host: '127.0.0.1', port, timeoutMs }, dialling.signal);
  dialling.abort();
  assert.equal(await failure, `dial tcp 127.0.0.1:${port}: operation was canceled`);
});

for (const [what, first, again, said] of floods) {
  test(`what is passed on to a pod or an aggregated API ends at ${what} without end`, async (t) => {
    for (const ask of [requestBackend, upgradeBackend]) {
      const { port, left } = await serve(t, 'HTTP', endless(first, again));
      const request = { method: 'GET', path: '/', headers: { host: 'x' } };
      await assert.rejects(ask({ host: '127.0.0.1', port }, request), (error) => {
        assert.ok(error instanceof BackendError);
        assert.match(error.message, said);
        return true;
      });
      await left;
    }
  });
}

for (const scheme of ['HTTP', 'HTTPS'] as const)
  test(`a probe by ${scheme} leaves when it has its answer, also a server that keeps its side open`, async (t) => {
    const { port } = await serve(t, scheme, (socket) => {
      socket.allowHalfOpen = true;
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    });
    const handles = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = handles();
    const { status } = await probe(scheme, port);
    assert.equal(status, 200);
    // Both ends are here: that of the server stays.
    while (handles() > before + 1) await new Promise((resolve) => setImmediate(resolve));
  });
