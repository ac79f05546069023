// A server on a disk that fills up: nothing is acknowledged that is not kept, readiness says so, deleting works, and it goes on.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps, leases, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { ConfigMap, Node, Pod } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError, type StatusError } from '../../src/apimachinery/errors.ts';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { whyNotReady } from '../../src/cmd/cluster/server-health.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { DurableStore } from '../../src/storage/sqlite/durable-store.ts';
import { takeOwnerLock } from '../../src/storage/sqlite/owner-lock.ts';
import { openState, randomBatch, seeded } from '../../src/storage/testing/store-model.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const map = (name: string): ConfigMap =>
  ({ metadata: { name, namespace: 'default' }, data: { value: 'x'.repeat(50_000) } }) as unknown as ConfigMap;

async function readyz({ controlPlane }: RunningServer): Promise<string> {
  const transport = inProcessTransport(controlPlane.handle, administrator);
  const { body } = await transport.request({ method: 'GET', path: '/readyz?verbose', headers: {} });
  return (await readAll(body, 10_000)).toString();
}

test('on a full disk writes fail as 500, readyz says so, DELETE works, and with space all goes on', async (context) => {
  const scratch = scratchDirectory('full-disk');
  const disk = join(scratch.path, 'disk');
  mkdirSync(disk);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk]).status, 0);
  const ballast = join(disk, 'ballast');
  const open = (): ReturnType<typeof startServer> =>
    startServer({ dataDir: join(disk, 'data'), securePort: 0, bindAddress: '127.0.0.1', log: silentLogger });
  let server = await open();
  try {
    let client = server.controlPlane.clientFor(administrator);
    assert.match(await readyz(server), /\[\+\]etcd ok/);
    const acked = new Set<string>();
    const refusals: StatusError[] = [];
    let deleted = 0;
    for (let round = 0; round < 3; round++) {
      // Somebody else fills what is left, but for a little.
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - (4 << 20))));
      let inARow = 0;
      for (let i = 0; inARow < 20; i++) {
        assert.ok(i < 2_000, 'the disk does not fill');
        await client.create(configmaps, map(`m-${round}-${i}`)).then(
          (made) => {
            acked.add(made.metadata!.name!);
            inARow = 0;
          },
          (error: unknown) => {
            assert.ok(isStatusError(error), String(error));
            refusals.push(error);
            inARow++;
          },
        );
      }
      assert.equal(refusals.at(-1)!.code, 500);
      assert.equal(refusals.at(-1)!.message, 'etcdserver: mvcc: database space exceeded');
      assert.match(await readyz(server), /\[-\]etcd failed: reason withheld/);
      // N17: what porthole status shows.
      assert.match(
        (await whyNotReady(join(disk, 'data/admin.kubeconfig'))) ?? '',
        /^writes are refused, the disk is full \(.*\): free/,
      );
      assert.equal((await client.raw({ method: 'GET', path: '/livez' })).status, 200);
      const { items } = await client.list(configmaps, { namespace: 'default' });
      const listed = new Set(items.map((item) => item.metadata!.name!));
      for (const name of acked) assert.ok(listed.has(name), `${name} was acknowledged`);

      for (const name of [...acked].slice(0, 30)) {
        await client.delete(configmaps, { name, namespace: 'default' });
        acked.delete(name);
        deleted++;
      }
      if (round === 1) {
        // A server can be started on a full disk, too.
        await server.stop();
        server = await open();
        client = server.controlPlane.clientFor(administrator);
      }
      rmSync(ballast);
      await client.create(configmaps, map(`again-${round}`));
      acked.add(`again-${round}`);
      assert.match(await readyz(server), /\[\+\]etcd ok/);
      assert.equal(await whyNotReady(join(disk, 'data/admin.kubeconfig')), undefined);
    }
    const { items } = await client.list(configmaps, { namespace: 'default' });
    const names = items.map((item) => item.metadata!.name!).filter((name) => name !== 'kube-root-ca.crt');
    assert.deepEqual(names.sort(), [...acked].sort());
    context.diagnostic(
      `${refusals.length} writes refused, ${deleted} deletes on the full disk, ${acked.size} objects kept`,
    );
  } finally {
    await server.stop();
    spawnSync('umount', [disk]);
    scratch.remove();
  }
});

/** All that is left, to the last block. */
function fill(file: string): void {
  const some = Buffer.alloc(64 << 10);
  const ballast = openSync(file, 'a');
  try {
    for (;;) writeSync(ballast, some);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(ballast);
  }
}

/** A store on a disk that is full, of whose reserve somebody else has taken all but `left` bytes. */
function onFullDisk(left: number, use: (store: ReturnType<typeof urgentWriter>) => void): void {
  const scratch = scratchDirectory('full-disk-reserve');
  const disk = join(scratch.path, 'disk');
  mkdirSync(disk);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', disk]).status, 0);
  try {
    use(urgentWriter(disk, left));
  } finally {
    spawnSync('umount', [disk]);
    scratch.remove();
  }
}

function urgentWriter(disk: string, left: number) {
  const [folder, ballast] = [join(disk, 'db'), join(disk, 'ballast')];
  const objects = new Map<string, string>();
  const random = seeded(1);
  const store = new DurableStore(folder, systemRandom);
  store.start();
  for (let i = 0; i < 40; i++) store.write(randomBatch(random, store.revision(), objects));
  // As while the store makes its own files longer, piece by piece.
  truncateSync(join(folder, 'reserve'), left);
  fill(ballast);
  return {
    folder,
    ballast,
    objects,
    store,
    write: () => {
      const after = new Map(objects);
      store.write(randomBatch(random, store.revision(), after), true);
      objects.clear();
      for (const [key, value] of after) objects.set(key, value);
      fill(ballast);
    },
  };
}

test('a store of whose reserve another program took most is opened again on the full disk', () =>
  onFullDisk(3_500_000, ({ folder, objects, store, write }) => {
    for (let i = 0; i < 60; i++) write();
    store.close();
    assert.deepEqual([...openState(folder).objects].sort(), [...objects].sort());
  }));

test('a store that had nothing of its reserve says that the disk is full, and has all that was written when it is not', () =>
  onFullDisk(200_000, ({ folder, ballast, objects, store, write }) => {
    assert.throws(
      () => {
        for (let i = 0; i < 200; i++) write();
      },
      { code: 'NoSpace' },
    );
    store.close();
    const message = `cannot open the store in ${folder}: disk I/O error (its disk is full: free some space)`;
    assert.throws(() => openState(folder), { code: 'WriteFailed', message });
    rmSync(ballast);
    assert.deepEqual([...openState(folder).objects].sort(), [...objects].sort());
  }));

const podOf = (name: string): Pod =>
  ({
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  }) as unknown as Pod;

test('a pod is deleted gracefully, and its node heard of, on a disk that a program keeps full', async (context) => {
  const scratch = scratchDirectory('full-disk-pods');
  const disk = join(scratch.path, 'disk');
  mkdirSync(disk);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]).status, 0);
  const open = (securePort: number): ReturnType<typeof startServer> =>
    startServer({ dataDir: join(disk, 'data'), securePort, bindAddress: '127.0.0.1', log: silentLogger });
  let server = await open(0);
  let client = server.controlPlane.clientFor(administrator);
  await client.create(serviceaccounts, { metadata: { name: 'default', namespace: 'default' } });
  await client.create(nodes, { metadata: { name: 'n' } } as Node);
  const lease = { name: 'n', namespace: 'kube-node-lease' };
  await client.create(leases, { metadata: lease, spec: { holderIdentity: 'n' } });
  for (let i = 0; i < 4; i++) await client.create(pods, podOf(`p${i}`));
  const eat = async (): Promise<ReturnType<typeof spawn>> => {
    const program = new URL('./programs/disk-eater.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, join(disk, 'eaten')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout!, 'data');
    return child;
  };
  let eater = await eat();
  const endEating = async (): Promise<void> => {
    if (eater.exitCode === null && eater.kill('SIGKILL')) await once(eater, 'exit');
  };
  const full = { code: 500, message: 'etcdserver: mvcc: database space exceeded' };
  try {
    assert.throws(() => takeOwnerLock(join(disk, 'lock')), {
      next: `free some space on the disk of ${disk}`,
    });
    // What comes while others wait for SQLite is durable in the journal's own space; what is full is seen when they are brought in.
    let early = 0;
    await eventually(() => assert.rejects(client.create(configmaps, map(`early-${early++}`)), full));
    for (let i = 0; i < 4; i++) {
      const pod = { name: `p${i}`, namespace: 'default' };
      await assert.rejects(client.create(configmaps, map('refused')), full);
      await client.delete(pods, pod, { gracePeriodSeconds: 30 });
      assert.equal((await client.get(pods, pod)).metadata.deletionGracePeriodSeconds, 30);
      for (let beat = 0; beat < 20; beat++) {
        const spec = { holderIdentity: 'n', leaseTransitions: i * 100 + beat };
        await client.patch(leases, lease, { type: 'merge', body: { spec } });
      }
      const conditions = [{ type: 'DiskPressure', status: 'True', reason: `${i}` }];
      await client.patch(
        nodes,
        { name: 'n' },
        { type: 'merge', body: { status: { conditions } } },
        { subresource: 'status' },
      );
      await client.patch(
        pods,
        pod,
        { type: 'merge', body: { status: { phase: 'Failed' } } },
        { subresource: 'status' },
      );
      await client.delete(pods, pod, { gracePeriodSeconds: 0 });
      await assert.rejects(client.get(pods, pod), { code: 404 });
      if (i !== 1) continue;
      // The program gives up, and the server is started on the full disk.
      await endEating();
      await server.stop();
      server = await open(server.port);
      client = server.controlPlane.clientFor(administrator);
    }
    await assert.rejects(client.create(configmaps, map('refused')), full);
    rmSync(join(disk, 'eaten'));
    await client.create(configmaps, map('again'));
    assert.match(await readyz(server), /\[\+\]etcd ok/);
    eater = await eat();
    await client.delete(configmaps, { name: 'again', namespace: 'default' });
    context.diagnostic('4 pods deleted gracefully, 80 leases renewed, 1 server started on a disk kept full');
  } finally {
    await endEating();
    await server.stop();
    spawnSync('umount', [disk]);
    scratch.remove();
  }
});
