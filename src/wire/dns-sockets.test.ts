// DNS sockets: when the network says no, and when one asks more than the others.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { exchangeDns, listenDns } from './dns-sockets.ts';

const query = Buffer.from('a question');
const echo = (packet: Buffer): Promise<Buffer> => Promise.resolve(packet);

test('a question is answered over UDP and TCP', async () => {
  const listener = await listenDns({ address: '127.0.0.1', port: 0, handle: echo });
  try {
    for (const transport of ['udp', 'tcp'] as const) {
      const server = { address: '127.0.0.1', port: listener.port };
      const answer = await exchangeDns(server, query, { transport, timeoutMs: 5000, accepts: () => true });
      assert.deepEqual(answer, query);
    }
  } finally {
    await listener.close();
  }
});

test('a listener that gets no UDP port leaves no socket open', async () => {
  const sockets = (): string[] =>
    readdirSync('/proc/self/fd')
      .flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/self/fd/${fd}`)];
        } catch {
          return []; // the one that the folder itself was read by
        }
      })
      .filter((target) => target.startsWith('socket:'))
      .sort();
  const taken = createSocket('udp4');
  taken.bind(0, '127.0.0.1');
  await once(taken, 'listening');
  try {
    const before = sockets();
    const { port } = taken.address();
    await assert.rejects(listenDns({ address: '127.0.0.1', port, handle: echo }), { code: 'EADDRINUSE' });
    assert.deepEqual(sockets(), before);
  } finally {
    taken.close();
  }
});

test('further ports answer, too; those that are taken are left out', async () => {
  const [free, taken] = [createSocket('udp4'), createSocket('udp4')];
  for (const one of [free, taken]) {
    one.bind(0, '127.0.0.1');
    await once(one, 'listening');
  }
  const lanes = [taken.address().port, free.address().port];
  await new Promise<void>((done) => free.close(() => done()));
  const listener = await listenDns({ address: '127.0.0.1', port: 0, lanes, handle: echo });
  try {
    assert.deepEqual(listener.lanes, lanes.slice(1));
    const server = { address: '127.0.0.1', port: lanes[1]! };
    const asked = { transport: 'udp', timeoutMs: 5000, accepts: () => true } as const;
    assert.deepEqual(await exchangeDns(server, query, asked), query);
  } finally {
    await listener.close();
    taken.close();
  }
});

test('a resolver that can not be reached is an error of that question only', async () => {
  // The kernel refuses to connect to the broadcast address, as it refuses where there is no route.
  const server = { address: '255.255.255.255', port: 53 };
  for (const transport of ['udp', 'tcp'] as const)
    await assert.rejects(exchangeDns(server, query, { transport, timeoutMs: 5000, accepts: () => true }), {
      syscall: 'connect',
    });
});

test('an answer that comes after the listener is closed is dropped', async () => {
  let answer: (packet: Buffer) => void = () => undefined;
  const asked = Promise.withResolvers<void>();
  const listener = await listenDns({
    address: '127.0.0.1',
    port: 0,
    handle: () => {
      asked.resolve();
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
  });
  const client = createSocket('udp4');
  try {
    client.send(query, listener.port, '127.0.0.1');
    await asked.promise;
  } finally {
    await listener.close();
    client.close();
  }
  answer(query);
  await new Promise((done) => setImmediate(done));
});

test('a source that asks much waits for itself: another one is answered before the rest of it', async (t) => {
  const order: string[] = [];
  const listener = await listenDns({
    address: '0.0.0.0',
    port: 0,
    handle: (packet, _, source) => {
      order.push(source);
      return echo(packet);
    },
  });
  const [crowd, other] = ['127.0.0.2', '127.0.0.3'];
  const [many, one] = [createSocket('udp4'), createSocket('udp4')];
  const count = 200;
  try {
    many.bind(0, crowd);
    one.bind(0, other);
    await Promise.all([once(many, 'listening'), once(one, 'listening')]);
    // Without a look at the listener's socket between them.
    for (let i = 0; i < count; i++) many.send(query, listener.port, '127.0.0.1');
    const answered = once(one, 'message');
    one.send(query, listener.port, '127.0.0.1');
    await answered;
    await t.waitFor(() => assert.equal(order.length, count + 1), { timeout: 30_000 });
  } finally {
    await listener.close();
    many.close();
    one.close();
  }
  assert.ok(order.indexOf(other) < count * 0.6, `answered after ${order.indexOf(other)} others`);
});
