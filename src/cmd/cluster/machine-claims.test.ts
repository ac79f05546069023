// Claims of addresses over all homes: kept while the cluster is known, forgotten safely afterwards.
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { clusterId } from './cluster-id.ts';
import { clusterPaths } from './cluster-state.ts';
import { type Claim, withMachineClaims } from './machine-claims.ts';

test('clusters of one name in two homes have different ids, and one home has one whichever way it is reached', () => {
  assert.notEqual(clusterId('/a', 'default'), clusterId('/b', 'default'));
  assert.notEqual(clusterId('/a', 'b-c'), clusterId('/a-b', 'c'));
  assert.match(clusterId('/a', 'default'), /^default-[0-9a-f]{8}$/);
});

test('addresses are claimed for all homes; claims of vanished homes, other starts and broken files are taken back', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'claims-'));
  t.after(() => rm(folder, { recursive: true }));
  const claim = (home: string, port: number): Claim => ({
    id: clusterId(join(folder, home), 'x'),
    home: join(folder, home),
    name: 'x',
    clusterCidr: '10.244.0.0/16',
    port,
  });
  const make = async (one: Claim): Promise<void> => {
    const { root, state } = clusterPaths(one.home, one.name);
    mkdirSync(root, { recursive: true });
    writeFileSync(state, '{}');
    await withMachineClaims(linuxProcesses, { id: one.id, folder }, async (claims) => claims.keep(one));
  };
  const seen = (id = 'me-00000000'): Promise<number[]> =>
    withMachineClaims(linuxProcesses, { id, folder }, async ({ others }) =>
      others.map(({ port }) => port).sort(),
    );
  const file = (one: Claim): string => join(folder, 'clusters', `${one.id}.json`);
  /** As if the command that wrote it had ended. */
  const byTheDead = (one: Claim, bootId?: string): void => {
    const stored = JSON.parse(readFileSync(file(one), 'utf8')) as { by: object; bootId: string };
    const by = { ...stored.by, startTicks: '1' };
    writeFileSync(file(one), JSON.stringify({ ...stored, by, bootId: bootId ?? stored.bootId }));
  };

  const [first, second] = [claim('one', 6443), claim('two', 7000)];
  await make(first);
  await make(second);
  assert.deepEqual(await seen(), [6443, 7000]);
  assert.deepEqual(await seen(first.id), [7000], 'its own claim is not in its way');

  rmSync(first.home, { recursive: true });
  assert.deepEqual(await seen(), [6443, 7000], 'the command that claims still runs');
  byTheDead(first);
  assert.deepEqual(await seen(), [7000], 'no home, no command');

  byTheDead(second);
  assert.deepEqual(await seen(), [7000], 'a home that is there keeps its addresses');
  const { root, state } = clusterPaths(second.home, second.name);
  rmSync(state);
  writeFileSync(`${state}.copy`, '{}');
  assert.deepEqual(await seen(), [7000], 'so does one that has only the copy of its record');
  rmSync(`${state}.copy`);
  mkdirSync(join(root, 'nodes'));
  assert.deepEqual(await seen(), [7000], 'or nothing but its nodes');
  byTheDead(second, 'another start of the machine');
  assert.deepEqual(await seen(), []);

  writeFileSync(join(folder, 'clusters', 'half.json'), '{"id":');
  assert.deepEqual(await seen(), []);
  assert.deepEqual(readdirSync(join(folder, 'clusters')), []);
});

test('twenty that choose at once choose twenty different ports', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'claims-'));
  t.after(() => rm(folder, { recursive: true }));
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      withMachineClaims(linuxProcesses, { id: `c${i}`, folder }, async (claims) => {
        const port = 1 + Math.max(0, ...claims.others.map((other) => other.port));
        claims.keep({ id: `c${i}`, home: join(folder, `${i}`), name: 'x', port });
      }),
    ),
  );
  await withMachineClaims(linuxProcesses, { id: 'me', folder }, async ({ others }) => {
    assert.deepEqual(
      others.map((other) => other.port).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });
});

test('a folder of claims that somebody else made, may write to, or led elsewhere is not used', async (t) => {
  const scratch = await mkdtemp(join(tmpdir(), 'claims-'));
  t.after(() => rm(scratch, { recursive: true }));
  const folder = (name: string): string => {
    mkdirSync(join(scratch, name));
    return join(scratch, name);
  };
  const open = folder('open');
  chmodSync(open, 0o777);
  const link = join(scratch, 'link');
  symlinkSync(folder('elsewhere'), link);
  const planted = [open, link];
  if (process.getuid?.() === 0) {
    const foreign = folder('foreign');
    chownSync(foreign, 65534, 65534);
    planted.push(foreign);
  }
  for (const one of planted)
    await assert.rejects(
      withMachineClaims(linuxProcesses, { id: 'me-00000000', folder: one }, async () => undefined),
      /is not a folder that belongs to you alone/,
    );
});
