// What TLS gets of a socket, and when.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { socketBeingFed, TurnedSocket } from './turned-socket.ts';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  [Symbol.asyncDispose](): Promise<void>;
}

async function connected(): Promise<Pair> {
  const door = createServer({ allowHalfOpen: true });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const { port } = door.address() as { port: number };
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [server] = (await once(door, 'connection')) as [Socket];
  for (const socket of [client, server]) socket.on('error', () => {});
  return {
    client,
    server,
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.destroy();
      door.close();
      await once(door, 'close');
    },
  };
}

/** Grants turns when told to. */
class Turns {
  readonly asked: (() => void)[] = [];
  readonly groups: string[] = [];
  begin(_: object, group = ''): Promise<void> {
    this.groups.push(group);
    return new Promise((resolve) => this.asked.push(resolve));
  }
  async grant(): Promise<void> {
    while (this.asked.length === 0) await nextRound();
    this.asked.shift()!();
    await nextRound();
  }
}

test('what a socket brings is given on a kilobyte at a turn while that takes long, and more when it does not', async () => {
  await using pair = await connected();
  const turns = new Turns();
  let ms = 0;
  let cost = 10;
  const turned = new TurnedSocket(pair.server, { rounds: turns, now: () => ms });
  turned.handshakeEnded();
  const got: number[] = [];
  turned.on('data', (bytes: Buffer) => {
    assert.equal(socketBeingFed(), turned);
    got.push(bytes.length);
    ms += cost;
  });
  turned.resume();
  pair.client.write(Buffer.alloc(40_000));
  for (let i = 0; i < 3; i++) await turns.grant();
  assert.deepEqual(got, [1024, 1024, 1024]);
  assert.equal(turns.asked.length, 1);
  assert.ok(pair.server.isPaused(), 'the kernel keeps the rest');
  cost = 0;
  for (let i = 0; i < 3; i++) await turns.grant();
  assert.deepEqual(got.slice(3), [1024, 4096, 16_384]);
  assert.equal(socketBeingFed(), undefined);
});

test('a connection takes turns with the proven ones of its address after eight slices that cost little', async () => {
  await using pair = await connected();
  const turns = new Turns();
  let ms = 0;
  let cost = 0;
  const turned = new TurnedSocket(pair.server, { rounds: turns, now: () => ms });
  turned.handshakeEnded();
  turned.on('data', () => {
    ms += cost;
  });
  turned.resume();
  const send = async (): Promise<string> => {
    pair.client.write('a');
    await turns.grant();
    return turns.groups.pop()!;
  };
  for (let i = 0; i < 8; i++) assert.equal(await send(), '127.0.0.1 unproven');
  assert.equal(await send(), '127.0.0.1');
  cost = 3;
  assert.equal(await send(), '127.0.0.1');
  assert.equal(await send(), '127.0.0.1 unproven');
});

test('the first request in what had to wait for its turn is known to have waited', async () => {
  await using pair = await connected();
  const turns = new Turns();
  const rounds = { begin: () => turns.begin({}) as Promise<void> | undefined };
  const turned = new TurnedSocket(pair.server, { rounds, now: () => 0 });
  turned.handshakeEnded();
  const had: boolean[] = [];
  // As Node tells of a stream of HTTP/2.
  turned.on('data', () => process.nextTick(() => had.push(turned.takeTurn(), turned.takeTurn())));
  turned.resume();
  pair.client.write('a');
  await turns.grant();
  rounds.begin = () => undefined;
  pair.client.write('b');
  while (had.length < 4) await nextRound();
  assert.deepEqual(had, [true, false, false, false]);
});

test('a handshake that is longer than ten kilobytes is cut before TLS has seen that', async () => {
  await using pair = await connected();
  const turned = new TurnedSocket(pair.server, { rounds: { begin: () => undefined }, now: () => 0 });
  let got = 0;
  turned.on('data', (bytes: Buffer) => {
    got += bytes.length;
  });
  turned.resume();
  pair.client.resume();
  pair.client.write(Buffer.alloc(89_000));
  await new Promise((resolve) => pair.client.once('close', resolve));
  assert.ok(got <= 10 * 1024, `${got} bytes`);
});

test('what comes right behind a handshake is not counted to it', async () => {
  await using pair = await connected();
  const turned = new TurnedSocket(pair.server, { rounds: { begin: () => undefined }, now: () => 0 });
  let got = 0;
  turned.on('data', (bytes: Buffer) => {
    got += bytes.length;
    if (got >= 9000) turned.handshakeEnded();
  });
  turned.resume();
  pair.client.write(Buffer.alloc(50_000));
  while (got < 50_000) await once(turned, 'data');
  assert.equal(got, 50_000);
});

const unturned = { rounds: { begin: () => undefined }, now: () => 0 };

test('a client that has left is let go although nobody reads what it had sent', async () => {
  await using pair = await connected();
  const turned = new TurnedSocket(pair.server, { ...unturned, afterEndMs: 50 });
  turned.once('data', () => turned.pause());
  turned.resume();
  pair.client.end('a');
  await once(pair.server, 'close');
});

test('a client that has said its last is let go only when it takes nothing of its answer any more', async () => {
  await using pair = await connected();
  const turned = new TurnedSocket(pair.server, unturned);
  turned.resume();
  pair.client.pause();
  pair.client.end('a');
  await once(pair.server, 'end');
  turned.write(Buffer.alloc(64 * 1024 * 1024));
  let taken = 0;
  pair.client.on('data', (bytes: Buffer) => {
    taken += bytes.length;
  });
  // What Node calls when its timer of the socket has run down.
  const timeIsUp = (): void => (pair.server as unknown as { _onTimeout(): void })._onTimeout();
  for (let i = 1; i <= 3; i++) {
    pair.client.resume();
    while (taken < i * 12 * 1024 * 1024) await nextRound();
    pair.client.pause();
    timeIsUp();
    assert.equal(pair.server.destroyed, false);
  }
  timeIsUp();
  timeIsUp();
  assert.equal(pair.server.destroyed, true);
});

test('who does not take what it gets is given no more, and the end comes last', async () => {
  await using pair = await connected();
  const turned = new TurnedSocket(pair.server, { rounds: { begin: () => undefined }, now: () => 0 });
  turned.handshakeEnded();
  const all = Buffer.alloc(300_000, 'abc');
  pair.client.end(all);
  const parts: Buffer[] = [];
  turned.on('data', (bytes: Buffer) => {
    parts.push(bytes);
    turned.pause();
    setImmediate(() => turned.resume());
  });
  turned.resume();
  await once(turned, 'end');
  assert.ok(Buffer.concat(parts).equals(all));
  // The other direction is still open.
  turned.write('last words');
  turned.end();
  const [words] = (await once(pair.client, 'data')) as [Buffer];
  assert.equal(words.toString(), 'last words');
});
