// The kernel's text is read as the sockets of Node name their ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { attachedConnections, connectionKey, type Endpoints, readAttachedConnections } from './tcp-table.ts';

test('addresses of both families, and only connections whose other end is there', () => {
  const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:97A5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 965968 1 0 100 0 0 10 0
   1: 0100007F:919D 0200007F:C032 01 00000006:00000000 01:00000001 00000000     0        0 0 2 0 21 4 31 18 -1
   2: 0100007F:919D 0200007F:C033 08 00000006:00000000 01:00000001 00000000     0        0 0 2 0 21 4 31 18 -1
  sl  local_address                         remote_address                        st
   0: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000100007F:0051 01 00000000:00000000
   1: B80D0120000000000000000001000000:0050 00000000000000000000000001000000:0051 01 00000000:00000000
`;
  assert.deepEqual(
    [...attachedConnections(text)],
    ['127.0.0.1 37277 127.0.0.2 49202', '127.0.0.1 80 127.0.0.1 81', '2001:db8::1 80 ::1 81'],
  );
});

test('connections of this machine, until the other end leaves', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  const key = connectionKey(accepted as unknown as Endpoints);
  assert.equal((await readAttachedConnections())!.has(key), true);
  accepted.pause();
  client.destroy();
  while ((await readAttachedConnections())!.has(key)) await new Promise((resolve) => setImmediate(resolve));
  accepted.destroy();
  server.close();
});
