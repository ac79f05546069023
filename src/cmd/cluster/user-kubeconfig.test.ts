// Which of somebody's kubeconfigs is written, and how: under client-go's lock, whole, for its owner only.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { clusterPaths, readClusterState, writeClusterState } from './cluster-state.ts';
import { simulatedState } from './testing/simulated-state.ts';
import { fileToMerge, kubeconfigFiles, mergeCluster, removeFromKubeconfigs } from './user-kubeconfig.ts';

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A cluster's record and its own kubeconfig. */
function clusterIn(home: string, ca = 'CA'): ReturnType<typeof clusterPaths> {
  const paths = clusterPaths(home, 'x');
  writeClusterState(paths, simulatedState);
  const facts = {
    clusterName: 'x',
    userName: 'kubernetes-admin',
    server: 'https://127.0.0.1:6443',
    caCertificatePem: ca,
    credentials: { certificatePem: 'CERT', privateKeyPem: 'KEY' },
  };
  writeFileSync(paths.kubeconfig, kubeconfigText(facts));
  return paths;
}

test("$KUBECONFIG's first file that is there, else its last; without it ~/.kube/config", (t) => {
  const folder = scratch(t);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => join(folder, name)) as [string, string, string];
  const files = kubeconfigFiles({ KUBECONFIG: `${a}::${b}:${c}:${b}` });
  assert.deepEqual(files, [a, b, c]);
  assert.equal(fileToMerge(files), c);
  writeFileSync(b, '');
  assert.equal(fileToMerge(files), b);
  for (const env of [{ HOME: folder }, { HOME: folder, KUBECONFIG: '' }])
    assert.deepEqual(kubeconfigFiles(env), [join(folder, '.kube/config')]);
  assert.equal(fileToMerge([]), undefined);
});

test('merged into a file that is made for its owner only, again, and removed by the record', async (t) => {
  const home = scratch(t);
  const paths = clusterIn(home);
  const file = join(home, 'not/there/config');
  await mergeCluster(simulatedState, home, file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(home, 'not/there')), ['config'], 'no lock, nothing half written');
  const once = readFileSync(file, 'utf8');
  const state = readClusterState(paths)!;
  assert.deepEqual(state.mergedInto, [file]);
  await mergeCluster(state, home, file);
  assert.equal(readFileSync(file, 'utf8'), once);
  const said: string[] = [];
  await removeFromKubeconfigs(readClusterState(paths)!, paths, (text) => said.push(text));
  assert.equal(existsSync(file), false, 'a file that was made for it goes with it');
  assert.deepEqual(said, []);
});

test('a file that holds anything else, or is a link, stays without the cluster', async (t) => {
  const home = scratch(t);
  const paths = clusterIn(home);
  const [mine, link] = [join(home, 'mine'), join(home, 'link')];
  writeFileSync(mine, '# mine\n');
  symlinkSync(join(home, 'linked'), link);
  writeFileSync(join(home, 'linked'), '');
  for (const file of [mine, link]) {
    await mergeCluster(simulatedState, home, file);
    await removeFromKubeconfigs({ ...simulatedState, mergedInto: [file] }, paths, () => {});
    assert.doesNotMatch(readFileSync(file, 'utf8'), /porthole/);
  }
  assert.match(readFileSync(mine, 'utf8'), /^# mine\n/);
});

test('a link stays a link, and its file is made private', async (t) => {
  const home = scratch(t);
  clusterIn(home);
  mkdirSync(join(home, 'dotfiles'));
  const target = join(home, 'dotfiles/config');
  writeFileSync(target, '# mine\n');
  chmodSync(target, 0o644);
  const link = join(home, 'config');
  symlinkSync(target, link);
  await mergeCluster(simulatedState, home, link);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.match(readFileSync(target, 'utf8'), /^# mine\n[\s\S]*current-context: porthole-x/);
  assert.equal(statSync(target).mode & 0o777, 0o600);
});

test('a context that its owner named otherwise is the one that is chosen, and told', async (t) => {
  const home = scratch(t);
  clusterIn(home);
  const file = join(home, 'config');
  assert.equal(await mergeCluster(simulatedState, home, file), 'porthole-x');
  const renamed = readFileSync(file, 'utf8')
    .replace('current-context: porthole-x', 'current-context: other')
    .replace(/(contexts:\n {2}- name: )porthole-x/, '$1mine');
  writeFileSync(file, renamed);
  assert.equal(await mergeCluster(simulatedState, home, file), 'mine');
  assert.match(readFileSync(file, 'utf8'), /^current-context: mine$/m);
});

test('a file that another program has locked is waited for', async (t) => {
  const home = scratch(t);
  clusterIn(home);
  const file = join(home, 'config');
  writeFileSync(`${file}.lock`, '');
  const merging = mergeCluster(simulatedState, home, file);
  await new Promise((done) => setImmediate(done));
  assert.equal(existsSync(file), false);
  rmSync(`${file}.lock`);
  await merging;
  assert.match(readFileSync(file, 'utf8'), /porthole-x/);
});

test('the lock of one of ours that was killed keeps nobody waiting; one of a process of elsewhere does', async (t) => {
  const home = scratch(t);
  clusterIn(home);
  const file = join(home, 'config');
  const numbering = readlinkSync('/proc/self/ns/pid');
  // As what was killed left it: its number is another's by now, or nobody's.
  for (const left of [`${numbering} ${process.pid} 1`, `${numbering} 4194305 123`]) {
    writeFileSync(`${file}.lock`, left);
    await mergeCluster(simulatedState, home, file);
    assert.deepEqual(
      readdirSync(home).filter((name) => name.includes('lock')),
      [],
    );
  }
  for (const kept of ['pid:[1] 4194305 123', `${numbering} 4194305`]) {
    writeFileSync(`${file}.lock`, kept);
    const merging = mergeCluster(simulatedState, home, file);
    await new Promise((done) => setImmediate(done));
    assert.equal(readFileSync(`${file}.lock`, 'utf8'), kept);
    rmSync(`${file}.lock`);
    await merging;
  }
});

test('what is no kubeconfig is left as it is, and named; at the end of a cluster it is a warning', async (t) => {
  const home = scratch(t);
  const paths = clusterIn(home);
  const file = join(home, 'config');
  const broken = 'users: [porthole-x\n';
  writeFileSync(file, broken);
  await assert.rejects(mergeCluster(simulatedState, home, file), (error: Error & { next?: string }) => {
    assert.equal(error.message, `${file} was not changed`);
    assert.match(error.next!, /repair .*--kubeconfig/);
    return true;
  });
  const said: string[] = [];
  await removeFromKubeconfigs({ ...simulatedState, mergedInto: [file] }, paths, (text) => said.push(text));
  assert.match(said.join(), /warning: .*config was not changed and still has cluster porthole-x: line 2/);
  assert.equal(readFileSync(file, 'utf8'), broken);
});

test('the end of a cluster of another home with this name leaves the entry', async (t) => {
  const [one, other] = [scratch(t), scratch(t)];
  clusterIn(one);
  const otherPaths = clusterIn(other, 'OTHER');
  const file = join(one, 'config');
  await mergeCluster(simulatedState, one, file);
  await removeFromKubeconfigs({ ...simulatedState, mergedInto: [file] }, otherPaths, () => {});
  assert.match(readFileSync(file, 'utf8'), /^current-context: porthole-x$/m);
});
