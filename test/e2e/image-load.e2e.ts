// `porthole image load`: every form of an archive, on two nodes that share what is in it; a bad one leaves nothing behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { sha256Hex } from '../../src/crypto/digests.ts';
import { ctr } from '../../src/images/ctr.ts';
import { writeLayer } from '../../src/images/image-tar.ts';
import { writeImageArchive } from '../../src/images/oci-archive.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { blobFile } from '../../src/rpc-api/containerd-content.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { podSpec } from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 180_000 };
const nodes = ['linux-1', 'linux-2'];
const scratch = scratchDirectory('image-load');
let cluster: TestCluster;

const layerEntries = (text: string) =>
  [
    { kind: 'file', path: 'bin/busybox', data: { file: '/bin/busybox' }, mode: 0o755 },
    { kind: 'symlink', path: 'bin/cat', target: 'busybox' },
    { kind: 'file', path: 'said.txt', data: text },
  ] as const;

/** As our own archives are: OCI's layout, layers unpacked. */
async function ociArchive(name: string): Promise<string> {
  const layer = join(scratch.path, `${name}.layer`);
  await writeLayer(layer, layerEntries(name));
  const file = join(scratch.path, `${name}.tar`);
  const part = { os: 'linux', architecture: 'amd64', config: {}, layers: [layer] } as const;
  await writeImageArchive(file, `porthole.local/test/${name}:1`, [part]);
  return file;
}

/** As `docker save` of before version 25 writes it, with a packed layer, and one that occurs twice as a link. */
async function dockerArchive(name: string): Promise<string> {
  const folder = join(scratch.path, `${name}.folder`);
  for (const part of ['1', '2', '3']) mkdirSync(join(folder, part), { recursive: true });
  await writeLayer(join(folder, '1/layer.tar'), layerEntries(name));
  const packed = join(folder, 'plain');
  await writeLayer(packed, [{ kind: 'file', path: 'packed.txt', data: 'packed' }]);
  writeFileSync(join(folder, '2/layer.tar'), gzipSync(readFileSync(packed)));
  const diffIds = [join(folder, '1/layer.tar'), packed].map(
    (file) => `sha256:${sha256Hex(readFileSync(file))}`,
  );
  const rootfs = { type: 'layers', diff_ids: [...diffIds, diffIds[0]] };
  writeFileSync(
    join(folder, 'c.json'),
    JSON.stringify({ os: 'linux', architecture: 'amd64', config: {}, rootfs }),
  );
  const Layers = ['1/layer.tar', '2/layer.tar', '3/layer.tar'];
  const manifest = [{ Config: 'c.json', RepoTags: [`porthole.local/test/${name}:1`], Layers }];
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const file = join(scratch.path, `${name}.tar`);
  await runOrThrow(linuxProcesses, 'ln', ['-s', '../1/layer.tar', join(folder, '3/layer.tar')]);
  await runOrThrow(linuxProcesses, 'tar', [
    '-cf',
    file,
    '-C',
    folder,
    ...['1', '2', '3', 'c.json', 'manifest.json'],
  ]);
  return file;
}

const load = (file: string, ...flags: string[]): ReturnType<TestCluster['porthole']> =>
  cluster.porthole(['image', 'load', '--name', cluster.name, file, ...flags]);

/** On both nodes a program of it reads a file of it. */
async function isOnBoth(
  name: string,
  { path = '/said.txt', says = name, image = `porthole.local/test/${name}:1` } = {},
): Promise<void> {
  for (const nodeName of nodes) {
    const pod = `${name}-${nodeName}`;
    const container = {
      image,
      imagePullPolicy: 'Never',
      command: ['/bin/cat', path],
    };
    const spec = podSpec(container, { nodeName, restartPolicy: 'Never' });
    await cluster.kubectl.apply(
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod }, spec }),
    );
    await cluster.kubectl.ok([
      'wait',
      '--for=jsonpath={.status.phase}=Succeeded',
      `pod/${pod}`,
      '--timeout=60s',
    ]);
    assert.equal(await cluster.kubectl.ok(['logs', pod]), says);
  }
}

const clusterFolder = (): string => clusterPaths(cluster.home, cluster.name).root;
const blobOn = (node: string, digest: string): string => {
  const { containerdRoot } = nodeLayout(clusterPaths(cluster.home, cluster.name).node(node));
  return blobFile(containerdRoot, `sha256:${digest}`);
};
const leftOvers = (): string[] => readdirSync(clusterFolder()).filter((name) => name.startsWith('load-'));

before(async () => {
  cluster = await startTestCluster({ linux: 2 });
}, limit);
after(async () => {
  await cluster?.down();
  scratch.remove();
}, limit);

describe('porthole image load', limit, () => {
  test("an archive in OCI's layout runs on both nodes, which have its layer once", async () => {
    const { code, stdout, stderr } = await load(await ociArchive('oci'));
    assert.equal(code, 0, stderr);
    for (const node of nodes) assert.match(stdout, new RegExp(`${node} +porthole\\.local/test/oci:1`));
    await isOnBoth('oci');
    const digest = sha256Hex(readFileSync(join(scratch.path, 'oci.layer')));
    const [first, second] = nodes.map((node) => statSync(blobOn(node, digest)));
    assert.equal(first!.ino, second!.ino);
    assert.equal(first!.mode & 0o777, 0o444);
    assert.deepEqual(leftOvers(), []);
  });

  test('an image removed from one node is whole on the other, and can be loaded again', async () => {
    const { containerdSocket } = nodeLayout(clusterPaths(cluster.home, cluster.name).node('linux-1'));
    await cluster.kubectl.ok(['delete', 'pods', '--all', '--grace-period=1']);
    await ctr(linuxProcesses, containerdSocket, ['images', 'rm', '--sync', 'porthole.local/test/oci:1']);
    assert.equal((await load(join(scratch.path, 'oci.tar'))).code, 0);
    await isOnBoth('oci');
  });

  test('what an older docker save writes, with a packed layer and a link, runs on both', async () => {
    const { code, stderr } = await load(await dockerArchive('docker'));
    assert.equal(code, 0, stderr);
    await isOnBoth('docker');
    await cluster.kubectl.ok(['delete', 'pods', '--all', '--grace-period=1']);
    await isOnBoth('docker', { path: '/packed.txt', says: 'packed' });
  });

  test("a .tar.gz and a folder in OCI's layout are loaded as they are", async () => {
    const packed = join(scratch.path, 'packed.tar.gz');
    writeFileSync(packed, gzipSync(readFileSync(await ociArchive('packed'))));
    const folder = join(scratch.path, 'layout');
    mkdirSync(folder);
    await runOrThrow(linuxProcesses, 'tar', ['-xf', await ociArchive('folder'), '-C', folder]);
    for (const path of [packed, folder]) {
      const { code, stderr } = await load(path);
      assert.equal(code, 0, stderr);
    }
    await isOnBoth('packed');
    await isOnBoth('folder');
    // Nodes have files of their own: what is done to the folder afterwards is not done to them.
    const digest = sha256Hex(readFileSync(join(scratch.path, 'folder.layer')));
    assert.notEqual(
      statSync(blobOn('linux-1', digest)).ino,
      statSync(join(folder, 'blobs/sha256', digest)).ino,
    );
  });

  test('a folder that names only a tag, as skopeo writes it, gets its name by --tag; without it nothing is loaded', async () => {
    const folder = join(scratch.path, 'tagged');
    mkdirSync(folder);
    await runOrThrow(linuxProcesses, 'tar', ['-xf', await ociArchive('tagged'), '-C', folder]);
    const index = join(folder, 'index.json');
    const { manifests } = JSON.parse(readFileSync(index, 'utf8')) as { manifests: object[] };
    const named = manifests.map((entry) => ({
      ...entry,
      annotations: { 'org.opencontainers.image.ref.name': 'v1' },
    }));
    writeFileSync(index, JSON.stringify({ schemaVersion: 2, manifests: named }));
    const { code, stdout, stderr } = await load(folder);
    assert.equal(code, 1);
    assert.match(stderr, /gives its image no name.*\n.*--tag <name>:<tag>/);
    assert.doesNotMatch(stdout + stderr, /loaded into/);
    assert.match((await load(folder, '--tag', 'a b')).stderr, /--tag "a b": want the name of an image/);
    assert.equal((await load(folder, '--tag', 'porthole.local/test/tagged:1')).code, 0);
    await isOnBoth('tagged');
    // containerd keeps it as docker.io/library/hub:1, and finds it by both.
    assert.equal((await load(folder, '--tag', 'docker.io/hub:1')).code, 0);
    await isOnBoth('hub', { image: 'docker.io/hub:1', says: 'tagged' });
    const { stdout: all } = await cluster.porthole(['image', 'ls', '--name', cluster.name]);
    assert.doesNotMatch(all, /import-/);
  });

  test('what a load that was killed has left goes with the next one; of one that runs it stays', async () => {
    const killed = spawnSync('true');
    const [left, running] = [killed.pid, process.pid].map((pid) => join(clusterFolder(), `load-${pid}-x`));
    for (const folder of [left!, running!]) mkdirSync(folder);
    assert.equal((await load(join(scratch.path, 'oci.tar'))).code, 0);
    assert.deepEqual(leftOvers(), [basename(running!)]);
    rmdirSync(running!);
  });

  test('a node that fails is named, and the others have what they were given', async () => {
    const [first, second] = nodes.map(
      (node) => nodeLayout(clusterPaths(cluster.home, cluster.name).node(node)).containerdSocket,
    );
    const away = `${first}.away`;
    renameSync(first!, away);
    const { code, stdout, stderr } = await load(await ociArchive('half')).finally(() =>
      renameSync(away, first!),
    );
    assert.equal(code, 1);
    assert.match(stderr, /^porthole: linux-1: .*containerd\.sock/m);
    assert.doesNotMatch(stdout + stderr, /linux-2: |\n +at /);
    const ctrOfSecond = (...args: string[]): Promise<string> => ctr(linuxProcesses, second!, args);
    assert.match(await ctrOfSecond('images', 'ls', '-q'), /test\/half:1/);
    assert.equal(await ctrOfSecond('leases', 'ls', '-q'), '');
    assert.deepEqual(leftOvers(), []);
  });

  test('an archive that is found bad at its end leaves nothing: no image, no layer, no folder', async () => {
    const bad = join(scratch.path, 'bad.tar');
    copyFileSync(await ociArchive('bad'), bad);
    const bytes = readFileSync(bad);
    // The last thing in it, its name already written: one byte of the layer.
    bytes[bytes.lastIndexOf('bad')]! ^= 1;
    writeFileSync(bad, bytes);
    const cut = join(scratch.path, 'cut.tar.gz');
    appendFileSync(cut, gzipSync(readFileSync(await ociArchive('cut'))).subarray(0, -100));
    for (const file of [bad, cut]) {
      const { code, stderr } = await load(file);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /does not have the content that its name promises|is not a readable image archive/,
      );
      assert.doesNotMatch(stderr, /\n +at /);
    }
    assert.deepEqual(leftOvers(), []);
    const digest = sha256Hex(readFileSync(join(scratch.path, 'bad.layer')));
    for (const node of nodes) assert.throws(() => statSync(blobOn(node, digest)), { code: 'ENOENT' });
    const { stdout } = await cluster.porthole(['image', 'ls', '--name', cluster.name]);
    assert.doesNotMatch(stdout, /test\/(bad|cut)/);
  });
});
