// Which user a pod's programs are, and which range of users a node has.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { firstIdOfPod } from './pod-users.ts';
import { claimUserRange } from './user-ranges.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-users-'));
const state = join(folder, 'state');
const bundles = join(folder, 'bundles');
after(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(state, { recursive: true, force: true });
  rmSync(bundles, { recursive: true, force: true });
});

const range = { first: 5000, pods: 3, idsOfPod: 100 };
const user = (sandbox: string): number => {
  mkdirSync(join(bundles, sandbox), { recursive: true });
  return firstIdOfPod(state, range, sandbox, bundles);
};

test('each pod has ids of its own, and all its containers the same', () => {
  assert.deepEqual(['a', 'b', 'a', 'c', 'b'].map(user), [5000, 5100, 5000, 5200, 5100]);
});

test('ids of a pod that vanished without a word are given away again, those of a living one never', () => {
  for (const sandbox of ['a', 'b', 'c']) user(sandbox);
  assert.throws(() => user('d'), /all 3 users of this node are taken/);
  rmSync(join(bundles, 'b'), { recursive: true });
  assert.equal(user('e'), 5100);
  assert.throws(() => user('f'), /all 3 users/);
  assert.deepEqual(readdirSync(join(state, 'pods')).sort(), ['a', 'c', 'e']);
});

test('a file that is damaged costs no pod its ids, and the node no slot', () => {
  assert.deepEqual(['a', 'b', 'c'].map(user), [5000, 5100, 5200]);
  for (const damage of ['', 'x', '7', '-1', 'NaN']) {
    writeFileSync(join(state, 'pods/b'), damage);
    assert.equal(user('b'), 5100, `pods/b is ${JSON.stringify(damage)}`);
    writeFileSync(join(state, 'pods/b'), '1\n');
  }
  // A living pod's slot is not given away when only its name is lost; a dead one's is.
  for (const slot of [0, 1]) writeFileSync(join(state, 'users', String(slot)), '');
  rmSync(join(bundles, 'b'), { recursive: true });
  assert.equal(user('d'), 5100);
  assert.throws(() => user('e'), /all 3 users/);
  assert.equal(user('a'), 5000);
  // Both files of a pod that starts again.
  writeFileSync(join(state, 'pods/c'), '');
  writeFileSync(join(state, 'users/2'), '');
  assert.equal(user('c'), 5200);
});

test('nodes of one machine have ranges that do not meet, whoever asks first, and keep theirs', async () => {
  const claims = join(folder, 'claims');
  const nodes = ['one', 'two', 'three'].map((name) => join(folder, name));
  for (const node of nodes) mkdirSync(node);
  const claimed = (): Promise<number[]> =>
    Promise.all(nodes.map(async (node) => (await claimUserRange(linuxProcesses, node, claims)).first));
  const first = await claimed();
  assert.equal(new Set(first).size, 3);
  assert.deepEqual(await claimed(), first);
  const [one, two] = await Promise.all(
    nodes.slice(0, 2).map((node) => claimUserRange(linuxProcesses, node, claims)),
  );
  assert.ok(Math.abs(one!.first - two!.first) >= one!.pods * one!.idsOfPod);
  rmSync(nodes[0]!, { recursive: true });
  const other = join(folder, 'other');
  mkdirSync(other);
  assert.equal((await claimUserRange(linuxProcesses, other, claims)).first, first[0]);
});
