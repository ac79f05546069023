// Connections that begin: handshakes that never end, hellos in crowds, chains of certificates.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { listening, openHttp2, silent } from './testing/listening-server.ts';

test('a client that never finishes its handshake does not outlive the server', async () => {
  const { server, port } = await listening();
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  // Half of a hello: the server waits for the rest.
  socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  const closed = once(socket, 'close');
  socket.resume();
  // Another connection is served: the first one has been accepted.
  const second = connect(port, '127.0.0.1');
  second.on('error', () => {});
  await once(second, 'connect');
  await server.close(0);
  await closed;
});

test('a client that never begins its handshake is let go', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 50 });
  await once(await silent(port), 'close');
  await server.close(0);
});

test('of the handshakes of one address under way the oldest is let go beyond 1,024, others are served', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 600_000 });
  const first = await silent(port);
  const gone = once(first, 'close');
  const rest = [];
  for (let i = 1; i < 1024; i++) rest.push(await silent(port));
  // One that knows what it wants is served all the same, and pushes the oldest out.
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  await gone;
  assert.equal(rest.filter((socket) => socket.destroyed).length, 0);
  known.destroy();
  for (const socket of rest) socket.destroy();
  await server.close(0);
});

/** What a client says first, and says no more. */
function hello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read: () => {}, write: (bytes) => resolve(bytes) });
    connectTls({ socket: wire, rejectUnauthorized: false }).on('error', () => {});
  });
}

/** A connection over which a hello can be said, and who is told of the answer. */
async function greeter(port: number, answered: () => void): Promise<Socket> {
  const socket = await silent(port);
  socket.once('data', answered);
  return socket;
}

test('of two hundred hellos of one address a few are answered before the request of another', async () => {
  let answered = 0;
  const { server, port } = await listening({
    handler: async () => ({ status: 200, headers: {}, body: Buffer.from('x') }),
  });
  const other = openHttp2(port);
  const ask = async (): Promise<void> => {
    await once(other.request({ ':path': '/' }).resume(), 'end');
  };
  await ask();
  const bytes = await hello();
  const sockets = [];
  for (let i = 0; i < 200; i++) sockets.push(await greeter(port, () => answered++));
  // The first answer says that the server has begun with them: all have been sent.
  const begun = once(sockets[0]!, 'data');
  for (const socket of sockets) socket.write(bytes);
  await begun;
  await ask();
  assert.ok(answered <= 100, `after ${answered}`);
  for (const socket of sockets) socket.destroy();
  other.destroy();
  await server.close(0);
});

test('who says hello and no more lets the others of its address pass, and is not cut for it', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 600_000 });
  const bytes = await hello();
  const sockets = [];
  for (let i = 0; i < 20; i++) {
    const socket = await silent(port);
    socket.write(bytes);
    sockets.push(socket);
  }
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  assert.equal(sockets.filter((socket) => socket.destroyed).length, 0);
  known.destroy();
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

test('of one address 128 may be slow to go on after their hello: those beyond are let go', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 60_000 });
  const bytes = await hello();
  let gone = 0;
  const sockets: Socket[] = [];
  // Which of them is the oldest, the order in which the server saw their hellos says.
  const twelve = new Promise<void>((resolve) => {
    for (let i = 0; i < 140; i++) {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      socket.on('error', () => {});
      socket.once('close', () => {
        if (++gone === 12) resolve();
      });
      sockets.push(socket.resume());
    }
  });
  await twelve;
  assert.equal(sockets.filter((socket) => !socket.destroyed).length, 128);
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

test('a hello that comes byte by byte is answered', async () => {
  const { server, port } = await listening();
  const socket = await silent(port);
  socket.setNoDelay(true);
  const answered = once(socket, 'data');
  for (const byte of await hello()) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [first] = (await answered) as [Buffer];
  // A handshake record: its own hello.
  assert.equal(first[0], 0x16);
  socket.destroy();
  await server.close(0);
});

test('a client that leaves after its hello, or says something else, gives up its place', async () => {
  const { server, port } = await listening();
  const bytes = await hello();
  for (const said of [bytes, bytes.subarray(0, 9), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(0)])
    for (let i = 0; i < 10; i++) {
      const socket = await silent(port);
      const closed = once(socket, 'close');
      socket.end(said);
      await closed;
    }
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  known.destroy();
  await server.close(0);
});

async function longChain(): Promise<{ key: string; cert: string }> {
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 60_000 };
  const authority = await createCertificateAuthority({ commonName: 'stranger', ...times });
  const pair = await issueCertificate(authority, { commonName: 'stranger', ...times, usages: ['client'] });
  return { key: pair.privateKeyPem, cert: pair.certificatePem + authority.certificatePem.repeat(60) };
}

test('a chain of dozens of client certificates is cut before a signature of it is looked at', async () => {
  const { server, port } = await listening();
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...(await longChain()) });
  socket.on('error', () => {});
  const known = once(socket, 'secureConnect').then(
    () => socket.write('GET / HTTP/1.1\r\n\r\n'),
    () => {},
  );
  let got = '';
  socket.on('data', (bytes: Buffer) => {
    got += bytes;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  await known;
  assert.equal(got, '', 'nothing is answered');
  await server.close(0);
});

test('a second handshake on a connection is refused: it could be of any length', async () => {
  const { server, port } = await listening();
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  socket.renegotiate({ rejectUnauthorized: false }, () => {});
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.match(error.message, /renegotiation/i);
  socket.on('error', () => {});
  socket.destroy();
  await server.close(0);
});
