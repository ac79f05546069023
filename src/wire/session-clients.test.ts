// A client that leaves is noticed also while nobody reads what it sent; one that is there is left alone.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { connectionKey, type Endpoints, readAttachedConnections } from '../component-base/tcp-table.ts';
import { SessionClients } from './session-clients.ts';

let server: Server;
before(async () => {
  server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

async function connected(): Promise<{ readonly client: Socket; readonly accepted: Socket }> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  const [accepted] = (await once(server, 'connection')) as [Socket];
  accepted.on('error', () => undefined);
  return { client, accepted };
}
/** Returns when what was sent lies in the kernels' buffers, and no more goes there. */
async function sendUnread(client: Socket, bytes: number): Promise<void> {
  client.write(Buffer.alloc(bytes));
  let left = -1;
  while (client.writableLength > 0 && left !== client.writableLength) {
    left = client.writableLength;
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const [how, leave] of [
  ['closes', (client: Socket) => client.destroy()],
  ['resets', (client: Socket) => client.resetAndDestroy()],
] as const)
  test(`a client that ${how} its connection is noticed while nobody reads`, async () => {
    const { client, accepted } = await connected();
    new SessionClients(5).add(accepted);
    await sendUnread(client, 100_000);
    leave(client);
    await once(accepted, 'close');
    assert.equal(accepted.destroyed, true);
  });

test('a client that is there may wait as long as it likes', async () => {
  const waiting = await connected();
  const left = await connected();
  const clients = new SessionClients(5);
  clients.add(waiting.accepted);
  clients.add(left.accepted);
  await sendUnread(waiting.client, 100_000);
  left.client.destroy();
  // Its end shows that there was time for all looks.
  await once(left.accepted, 'close');
  assert.equal(waiting.accepted.destroyed, false);
  waiting.client.destroy();
  await once(waiting.accepted, 'close');
});

/** More than the buffers of two kernels take when nobody reads. */
const flood = 64_000_000;

test('a client that closed behind full buffers is noticed by what it is sent', async () => {
  const { client, accepted } = await connected();
  await sendUnread(client, flood);
  client.destroy();
  await once(client, 'close');
  const there = await readAttachedConnections();
  assert.equal(there?.has(connectionKey(accepted as unknown as Endpoints)), true, 'its end has come');
  new SessionClients(5).add(accepted, { nudge: () => accepted.write('.') });
  await once(accepted, 'close');
});

test('a client that is there is not ended by what it is sent, and gets it', async () => {
  const waiting = await connected();
  const left = await connected();
  const clients = new SessionClients(5);
  let nudges = 0;
  const nudge = (): void => {
    nudges++;
    waiting.accepted.write('.');
  };
  clients.add(waiting.accepted, { nudge });
  clients.add(left.accepted);
  await sendUnread(waiting.client, flood);
  left.client.destroy();
  await once(left.accepted, 'close');
  assert.equal(waiting.accepted.destroyed, false);
  assert.ok(nudges > 0);
  const [first] = (await once(waiting.client, 'data')) as [Buffer];
  assert.match(first.toString(), /^\.+$/);
  waiting.client.destroy();
  await once(waiting.accepted, 'close');
});

test('a session of a container that ended goes when nothing moves any more', async () => {
  const { accepted } = await connected();
  let over = false;
  new SessionClients(5).add(accepted, { over: () => over });
  accepted.resume();
  over = true;
  await once(accepted, 'close');
});

test('a connection that has no other end has been left', async () => {
  // As one that was reset before it was accepted: the kernel can't say whose it was.
  const accepted = new Socket();
  new SessionClients(5).add(accepted);
  await once(accepted, 'close');
});
