// Root merges into the kubeconfig of another user: what that one put there leads root nowhere.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { clusterPaths, writeClusterState } from './cluster-state.ts';
import { simulatedState } from './testing/simulated-state.ts';
import { mergeCluster, removeFromKubeconfigs } from './user-kubeconfig.ts';

const options = { skip: process.getuid?.() !== 0 && 'only root has the rights of others', timeout: 20_000 };
const bob = 65_534;
const secretText = "# root's\n";

interface Scene {
  readonly home: string;
  /** A folder of bob's. */
  readonly folder: string;
  readonly file: string;
  /** Root's, for nobody else. */
  readonly secret: string;
}

function scene(t: TestContext): Scene {
  const top = mkdtempSync(join(tmpdir(), 'foreign-'));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  chmodSync(top, 0o711);
  const [home, folder] = [join(top, 'home'), join(top, 'bob')];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(folder);
  chownSync(folder, bob, bob);
  const secret = join(home, 'secret');
  writeFileSync(secret, secretText, { mode: 0o600 });
  writeClusterState(clusterPaths(home, 'x'), simulatedState);
  const facts = {
    clusterName: 'x',
    userName: 'kubernetes-admin',
    server: 'https://127.0.0.1:6443',
    caCertificatePem: 'CA',
    credentials: { certificatePem: 'CERT', privateKeyPem: 'KEY' },
  };
  writeFileSync(clusterPaths(home, 'x').kubeconfig, kubeconfigText(facts));
  return { home, folder, file: join(folder, 'config'), secret };
}

/** What root had is as it was, and root has its rights again. */
function assertWhole({ home, secret }: Scene): void {
  const { uid, mode, nlink } = lstatSync(secret);
  assert.deepEqual([uid, mode & 0o777, nlink], [0, 0o600, 1]);
  assert.equal(readFileSync(secret, 'utf8'), secretText);
  assert.deepEqual(readdirSync(home).sort(), ['clusters', 'secret']);
  assert.deepEqual([process.geteuid!(), process.getegid!()], [0, 0]);
}

async function refused({ home, file }: Scene, cause: RegExp, next: RegExp): Promise<void> {
  await assert.rejects(mergeCluster(simulatedState, home, file), (error: Error & { next?: string }) => {
    assert.equal(error.message, `${file} was not changed`);
    assert.match((error.cause as Error).message, cause);
    assert.match(error.next!, next);
    return true;
  });
}

async function removed({ home }: Scene, file: string): Promise<string[]> {
  const said: string[] = [];
  const state = { ...simulatedState, mergedInto: [file] };
  await removeFromKubeconfigs(state, clusterPaths(home, 'x'), (text) => said.push(text));
  return said;
}

test(
  "the file is its folder owner's, also where the folder is made; it goes with the cluster",
  options,
  async (t) => {
    const there = scene(t);
    const groups = process.getgroups!();
    const file = join(there.folder, 'new/.kube/config');
    await mergeCluster(simulatedState, there.home, file);
    for (const path of [file, join(file, '..'), join(file, '../..')]) {
      const { uid, gid } = lstatSync(path);
      assert.deepEqual([path, uid, gid], [path, bob, bob]);
    }
    assert.equal(lstatSync(file).mode & 0o777, 0o600);
    assert.deepEqual(process.getgroups!(), groups);
    assert.deepEqual(await removed(there, file), []);
    assert.deepEqual(readdirSync(join(file, '..')), []);
    assertWhole(there);
  },
);

test('a link in the place of the half is not followed', options, async (t) => {
  const there = scene(t);
  symlinkSync(there.secret, `${there.file}.new`);
  await mergeCluster(simulatedState, there.home, there.file);
  assert.ok(lstatSync(there.file).isFile());
  assertWhole(there);
});

test('a link to what only root reads, or writes, is refused', options, async (t) => {
  const there = scene(t);
  const open = join(there.home, '../open');
  writeFileSync(open, secretText);
  for (const target of [there.secret, open]) {
    rmSync(there.file, { force: true });
    symlinkSync(target, there.file);
    await refused(there, /EACCES/, /chown/);
    assert.deepEqual(await removed(there, there.file), []);
    assert.deepEqual(readdirSync(there.folder), ['config']);
  }
  assert.deepEqual([lstatSync(open).uid, readFileSync(open, 'utf8')], [0, secretText]);
  assertWhole(there);
});

test('nor does a folder that is a link lead into one of root', options, async (t) => {
  const there = scene(t);
  symlinkSync(there.home, join(there.folder, '.kube'));
  await refused({ ...there, file: join(there.folder, '.kube/config') }, /EACCES/, /chown/);
  assertWhole(there);
});

test("root's link into a folder of another user counts as that folder", options, async (t) => {
  const there = scene(t);
  symlinkSync(there.secret, `${there.file}.new`);
  const link = join(there.home, '../link');
  symlinkSync('bob', link);
  await mergeCluster(simulatedState, there.home, join(link, 'config'));
  assert.equal(lstatSync(there.file).uid, bob);
  assertWhole(there);
});

test("a way that belongs to two users is nobody's", options, async (t) => {
  const there = scene(t);
  chownSync(there.folder, 1234, 1234);
  const inner = join(there.folder, 'inner');
  mkdirSync(inner);
  chownSync(inner, bob, bob);
  const file = join(inner, 'config');
  await refused({ ...there, file }, /belong to several users \(1234, 65534\)/, /--kubeconfig/);
  assert.deepEqual(readdirSync(inner), []);
});

test('an end of a cluster that finds a link does not empty what it leads to', options, async (t) => {
  const there = scene(t);
  await mergeCluster(simulatedState, there.home, there.file);
  const mine = join(there.home, '../mine');
  writeFileSync(mine, readFileSync(there.file), { mode: 0o644 });
  const text = readFileSync(mine, 'utf8');
  rmSync(there.file);
  symlinkSync(mine, there.file);
  assert.match((await removed(there, there.file)).join(), /was not changed and still has cluster porthole-x/);
  assert.deepEqual([lstatSync(mine).uid, readFileSync(mine, 'utf8')], [0, text]);
});

test('a pipe is refused and not waited for', options, async (t) => {
  const there = scene(t);
  execFileSync('mkfifo', [there.file]);
  await refused(there, /no regular file/, /repair/);
  assert.deepEqual(await removed(there, there.file), []);
  assert.deepEqual(readdirSync(there.folder), ['config']);
});

test(
  "a file of another user in a folder of root's stays that user's, whatever his other names of it",
  options,
  async (t) => {
    const there = scene(t);
    const folder = join(there.home, '../shared');
    mkdirSync(folder);
    const file = join(folder, 'config');
    writeFileSync(file, '# bob\n', { mode: 0o600 });
    chownSync(file, bob, bob);
    linkSync(file, join(there.folder, 'other-name'));
    await mergeCluster(simulatedState, there.home, file);
    assert.equal(lstatSync(file).uid, bob);
    assert.match(readFileSync(file, 'utf8'), /porthole-x/);
    assert.equal(existsSync(`${file}.lock`), false);
    assert.equal(readFileSync(join(there.folder, 'other-name'), 'utf8'), '# bob\n');
  },
);
