// Ranges of user ids are claimed one after the other, and nothing is left of the claims when the last node is gone.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { claimUserRange, releaseUserRanges } from './user-ranges.ts';

test('nodes have ranges of their own; a claim goes with its node, and the folder with the last one', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-users-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const claims = join(scratch, 'run/windows-users');
  const nodes = ['a', 'b', 'c'].map((name) => join(scratch, name));
  for (const node of nodes) mkdirSync(node);
  const claim = (node: string) => claimUserRange(linuxProcesses, node, claims);
  const ranges = await Promise.all(nodes.map(claim));
  assert.equal(new Set(ranges.map(({ first }) => first)).size, nodes.length);
  assert.deepEqual(await claim(nodes[1]!), ranges[1], 'it stays the same');
  rmSync(nodes[0]!, { recursive: true });
  await releaseUserRanges(linuxProcesses, join(scratch, 'cluster'), claims);
  assert.equal(readdirSync(claims).filter((name) => name !== 'lock').length, 2);
  for (const node of nodes.slice(1)) rmSync(node, { recursive: true });
  await releaseUserRanges(linuxProcesses, join(scratch, 'cluster'), claims);
  assert.equal(existsSync(claims), false);
  await releaseUserRanges(linuxProcesses, join(scratch, 'cluster'), claims);
  mkdirSync(nodes[0]!);
  await claim(nodes[0]!);
});

test('a cluster that goes takes its claims along, before its folder; the last one leaves nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-users-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const claims = join(folder, 'going');
  const clusters = ['a', 'ab'].map((name) => join(folder, name));
  for (const cluster of clusters)
    for (const node of ['one', 'two']) {
      mkdirSync(join(cluster, node), { recursive: true });
      await claimUserRange(linuxProcesses, join(cluster, node), claims);
    }
  assert.deepEqual(readdirSync(claims).sort(), ['0', '1', '2', '3', 'lock']);
  await releaseUserRanges(linuxProcesses, clusters[0]!, claims);
  assert.deepEqual(readdirSync(claims).sort(), ['2', '3', 'lock']);
  await releaseUserRanges(linuxProcesses, clusters[1]!, claims);
  assert.equal(existsSync(claims), false);
});
