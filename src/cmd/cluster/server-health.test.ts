// What `status` says of a server that is not ready.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { issueClusterCredentials } from '../compose/cluster-credentials.ts';
import { failedChecks, reasonText, whyNotReady } from './server-health.ts';
import { knownNodes } from './wait-ready.ts';

test('a full disk is said in status, with what to do', () => {
  assert.deepEqual(failedChecks('[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n'), [
    'etcd',
  ]);
  assert.deepEqual(failedChecks('[+]ping ok\n[+]etcd ok\nreadyz check passed\n'), []);
  assert.equal(
    reasonText(
      'etcd',
      'internal server error: the store cannot write: ENOSPC: no space left on device, write\n',
    ),
    'writes are refused, the disk is full (the store cannot write: ENOSPC: no space left on device, write): free some space, and it goes on by itself',
  );
  assert.equal(reasonText('etcd', 'internal server error: it is cold\n'), 'etcd failed: it is cold');
  assert.equal(reasonText('etcd', ''), 'etcd failed');
});

test('a server that hangs keeps nobody who asks it for long', { timeout: 8_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'server-health-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const open = new Set<Socket>();
  const mute = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const closed = new Promise<void>((resolve) => mute.once('close', resolve));
  const url = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const kubeconfig = join(folder, 'kubeconfig');
  await issueClusterCredentials({
    clusterName: 'x',
    serverDir: join(folder, 'server'),
    localUrl: url,
    nodeUrl: url,
    kubeconfig,
    nodes: [],
  });
  const [names, why] = await Promise.allSettled([knownNodes(kubeconfig, 100), whyNotReady(kubeconfig)]);
  assert.equal(names.status, 'rejected');
  assert.deepEqual(why, { status: 'fulfilled', value: undefined });
  mute.close();
  await closed; // nothing of ours is left open
  assert.equal(open.size, 0);
});
