// DNS over TCP for clients that do not read, do not ask, come in crowds, or ask much at once and mean well.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { DnsFrames, framed } from './dns-frames.ts';
import {
  type DnsTcpOptions,
  drainMs,
  idleMs,
  maxConnections,
  maxConnectionsOfSource,
  maxUnsentBytes,
  serveDnsTcp,
} from './dns-tcp-server.ts';

const question = framed(Buffer.from('a question'));
const questions = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => question));

const patience = { timeout: 30_000 };

async function served(t: TestContext, handle: DnsTcpOptions['handle']) {
  const clock = new FakeClock();
  const { server, cut } = serveDnsTcp({ clock, handle });
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  t.after(async () => {
    for (const client of clients) client.destroy();
    cut();
    await new Promise((done) => server.close(done));
    await t.waitFor(() => assert.equal(clock.pending, 0, 'no timer is left'), patience);
  });
  const client = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    clients.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  return { clock, accepted, client };
}

const ended = (t: TestContext, socket: Socket): Promise<void> =>
  t.waitFor(() => assert.ok(socket.destroyed), patience);

/** All answers until the server ends the connection. */
async function answersOf(socket: Socket): Promise<number> {
  const frames = new DnsFrames();
  let count = 0;
  socket.on('data', (data: Buffer) => {
    frames.push(data);
    while (frames.next() !== undefined) count++;
  });
  socket.resume();
  await once(socket, 'close');
  return count;
}

test('answers do not pile up for a client that does not read; it is let go when it never does', async (t) => {
  const bytes = 8000;
  let asked = 0;
  let most = 0;
  const { clock, accepted, client } = await served(t, async () => {
    asked++;
    most = Math.max(most, accepted[0]!.writableLength);
    return Buffer.alloc(bytes);
  });
  const socket = await client();
  socket.pause();
  const count = 50_000;
  socket.write(questions(count));
  await t.waitFor(
    () => assert.ok(accepted[0]!.isPaused() && accepted[0]!.writableLength >= maxUnsentBytes),
    patience,
  );
  assert.ok(most < maxUnsentBytes + 2 * bytes, `${most} bytes wait for their reader`);
  assert.ok(asked < count, 'the rest was not even read');
  clock.advance(drainMs - 1);
  assert.equal(accepted[0]!.destroyed, false);
  clock.advance(1);
  assert.equal(accepted[0]!.destroyed, true);
});

test('a client that asks much at once, and reads late, has all its answers', async (t) => {
  const { accepted, client } = await served(t, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return Buffer.alloc(60_000);
  });
  const socket = await client();
  socket.pause();
  // More than the kernel keeps: 32 MiB where this was written.
  const count = 1000;
  socket.end(questions(count));
  await t.waitFor(
    () => assert.ok(accepted[0]!.isPaused() && accepted[0]!.writableLength >= maxUnsentBytes),
    patience,
  );
  assert.equal(await answersOf(socket), count);
});

test('a connection without questions is let go, also when bytes come; one that waits for an answer is not', async (t) => {
  let answer: (packet: Buffer) => void = () => undefined;
  const { clock, accepted, client } = await served(t, () => new Promise((resolve) => (answer = resolve)));
  const [silent, slow, waiting] = [await client(), await client(), await client()];
  const [atSilent, atSlow, atWaiting] = accepted;
  waiting.write(question);
  slow.write(question.subarray(0, 5));
  await t.waitFor(() => assert.ok(atWaiting!.bytesRead > 0 && atSlow!.bytesRead > 0), patience);
  clock.advance(idleMs - 1);
  slow.write(question.subarray(5, 6));
  await t.waitFor(() => assert.equal(atSlow!.bytesRead, 6), patience);
  clock.advance(1);
  await ended(t, silent);
  await ended(t, slow);
  assert.ok(atSilent!.destroyed && atSlow!.destroyed && !atWaiting!.destroyed);
  answer(Buffer.from('at last'));
  assert.deepEqual((await once(waiting, 'data'))[0], framed(Buffer.from('at last')));
  clock.advance(idleMs);
  await ended(t, waiting);
});

test('one source has so many connections, and all together so many; who has most gives way', async (t) => {
  const { accepted, client } = await served(t, async (packet) => packet);
  const crowd = Array.from({ length: maxConnections / maxConnectionsOfSource }, (_, i) => `127.0.1.${i + 1}`);
  for (const source of crowd) for (let i = 0; i < maxConnectionsOfSource; i++) await client(source);
  await t.waitFor(() => assert.equal(accepted.length, maxConnections), patience);
  const living = (): number => accepted.filter((socket) => !socket.destroyed).length;
  assert.equal(living(), maxConnections);
  await ended(t, await client(crowd[1]!));
  assert.equal(living(), maxConnections, 'no more of one source');
  const socket = await client('127.0.2.1');
  socket.write(question);
  assert.deepEqual((await once(socket, 'data'))[0], question);
  assert.equal(living(), maxConnections, 'another source takes the place of one of theirs');
});
