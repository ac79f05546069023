// Mounts that spread between the node and its pods, where `/` is shared as systemd makes it, with real containerd.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { events } from '../../src/api/generated/resources.ts';
import { createLinuxMounts } from '../../src/os/linux/mounts-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';

const limit = { timeout: 120_000 };
const mounts = createLinuxMounts(linuxProcesses);
let node: KubeletNode;
/** Of the node, for host paths. */
let shared: string;
const mount = (...options: string[]): Promise<unknown> => runOrThrow(linuxProcesses, 'mount', options);

/** A file system of the node with one file. */
async function mountOnNode(path: string, text: string): Promise<void> {
  mkdirSync(path, { recursive: true });
  await mounts.tmpfs(path);
  writeFileSync(join(path, 'file'), text);
}

before(async () => {
  // The box's own root: nothing of it reaches the machine.
  await mount('--make-rshared', '/');
  node = await startKubeletNode();
  shared = join(node.directory, 'shared');
  mkdirSync(join(shared, 'sub'), { recursive: true });
}, limit);
after(async () => {
  await node?.close();
}, limit);

const forever = 'trap "exit 0" TERM; while true; do sleep 0.1; done';
interface Given {
  readonly propagation?: string;
  readonly script?: string;
  readonly volume?: object;
  readonly subPath?: string;
  readonly privileged?: boolean;
}
const container = (name: string, given: Given): object => ({
  name,
  image: node.image,
  command: ['/bin/sh', '-c', `${given.script ?? ':'}; ${forever}`],
  securityContext: { privileged: given.privileged === true },
  volumeMounts: [
    {
      name: 'v',
      mountPath: '/v',
      ...(given.subPath === undefined ? {} : { subPath: given.subPath }),
      ...(given.propagation === undefined ? {} : { mountPropagation: given.propagation }),
    },
  ],
});

async function run(name: string, ...containers: readonly Given[]): Promise<void> {
  const [first = {}] = containers;
  await node.create(name, {
    containers: containers.map((given, i) => container(`c${i}`, given)),
    volumes: [{ name: 'v', ...(first.volume ?? { hostPath: { path: shared } }) }],
  });
  await node.until(name, 'runs', (p) => p.status?.phase === 'Running');
}

/** What a container reads, '' when there is nothing. */
async function read(name: string, path: string, container = 'c0'): Promise<string> {
  const query = ['/bin/cat', path].map((word) => `command=${encodeURIComponent(word)}`).join('&');
  return (await node.exec(`/exec/default/${name}/${container}?${query}&output=1`)).get(1) ?? '';
}
const reads = (name: string, path: string, text: string, container = 'c0'): Promise<void> =>
  eventually(async () => assert.equal(await read(name, path, container), text), { timeoutMs: 20_000 });

test(
  'HostToContainer: what the node mounts later is seen, by any kind of host path and by subPath',
  limit,
  async () => {
    const kinds: Readonly<Record<string, Given>> = {
      plain: {},
      typed: { volume: { hostPath: { path: shared, type: 'Directory' } } },
      'by-sub-path': { subPath: 'sub' },
      privileged: { privileged: true },
    };
    for (const [name, given] of Object.entries(kinds))
      await run(name, { ...given, propagation: 'HostToContainer' });
    await run('private', {});
    await run('none', { propagation: 'None' });
    await mountOnNode(join(shared, 'sub/later'), 'seen');
    for (const name of Object.keys(kinds))
      await reads(name, name === 'by-sub-path' ? '/v/later/file' : '/v/sub/later/file', 'seen');
    for (const name of ['private', 'none']) assert.equal(await read(name, '/v/sub/later/file'), '', name);
    for (const name of [...Object.keys(kinds), 'private', 'none']) await node.remove(name);
    assert.equal(
      readFileSync(join(shared, 'sub/later/file'), 'utf8'),
      'seen',
      'it is still mounted on the node',
    );
    await mounts.unmount(join(shared, 'sub/later'));
  },
);

const makes = (folder: string): string =>
  `mkdir -p /v/${folder} && mount -t tmpfs made /v/${folder} && echo -n made > /v/${folder}/file`;

test(
  "HostToContainer: what a container mounts stays with it; Bidirectional: it is the node's and its neighbours'",
  limit,
  async () => {
    await run('watcher', { propagation: 'HostToContainer' });
    await run('quiet', { propagation: 'HostToContainer', privileged: true, script: makes('quiet') });
    await reads('quiet', '/v/quiet/file', 'made');
    assert.equal(existsSync(join(shared, 'quiet/file')), false);
    await run('loud', { propagation: 'Bidirectional', privileged: true, script: makes('loud') });
    await eventually(() => assert.equal(readFileSync(join(shared, 'loud/file'), 'utf8'), 'made'));
    await reads('watcher', '/v/loud/file', 'made');
    await mountOnNode(join(shared, 'back'), 'from the node');
    await reads('loud', '/v/back/file', 'from the node');
    for (const name of ['quiet', 'loud', 'watcher']) await node.remove(name);
    // As upstream: what a pod mounted on the node stays there unless the pod takes it down.
    assert.equal(readFileSync(join(shared, 'loud/file'), 'utf8'), 'made');
    await mounts.unmountAllBelow(shared);
  },
);

test(
  'containers of a pod hand each other mounts through an emptyDir, and none is left after the pod',
  limit,
  async () => {
    for (const medium of ['', 'Memory']) {
      const name = medium === '' ? 'on-disk' : 'in-memory';
      const volume = { emptyDir: { medium } };
      const maker: Given = { propagation: 'Bidirectional', privileged: true, script: makes('x'), volume };
      await run(name, maker, { propagation: 'HostToContainer' });
      await reads(name, '/v/x/file', 'made', 'c1');
      const { uid = '' } = (await node.get(name)).metadata;
      await node.remove(name);
      await eventually(async () => {
        assert.deepEqual(
          (await mounts.list()).map(({ target }) => target).filter((target) => target.includes(uid)),
          [],
        );
        assert.equal(existsSync(join(node.directory, 'kubelet/pods', uid)), false);
      });
    }
  },
);

test('a mount of the node that a pod bound into its own volume outlives the pod', limit, async () => {
  await mountOnNode(join(shared, 'kept'), 'kept');
  await mountOnNode(join(shared, 'kept/inner'), 'inner');
  await node.create('binder', {
    containers: [
      {
        name: 'main',
        image: node.image,
        command: ['/bin/sh', '-c', `mkdir /v/all && mount --rbind /node /v/all && touch /v/done; ${forever}`],
        securityContext: { privileged: true },
        volumeMounts: [
          { name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' },
          { name: 'node', mountPath: '/node', mountPropagation: 'Bidirectional' },
        ],
      },
    ],
    volumes: [
      { name: 'v', emptyDir: {} },
      { name: 'node', hostPath: { path: shared } },
    ],
  });
  await node.until('binder', 'runs', (p) => p.status?.phase === 'Running');
  const { uid = '' } = (await node.get('binder')).metadata;
  const folder = join(node.directory, 'kubelet/pods', uid, 'volumes/kubernetes.io~empty-dir/v');
  await eventually(() => assert.equal(existsSync(join(folder, 'done')), true));
  assert.equal(readFileSync(join(folder, 'all/kept/inner/file'), 'utf8'), 'inner');
  await node.remove('binder');
  await eventually(() => assert.equal(existsSync(folder), false));
  assert.equal(readFileSync(join(shared, 'kept/inner/file'), 'utf8'), 'inner');
  await mounts.unmountAllBelow(shared);
});

test('a container that is not privileged may not spread its mounts', limit, async () => {
  await assert.rejects(
    node.create('unprivileged', {
      containers: [container('c0', { propagation: 'Bidirectional' })],
      volumes: [{ name: 'v', emptyDir: {} }],
    }),
    /spec\.containers\[0\]\.volumeMounts\[0\]\.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers/,
  );
});

test('a folder that is not on a shared mount is refused in words', limit, async () => {
  await mountOnNode(join(shared, 'alone'), 'x');
  await mount('--make-private', join(shared, 'alone'));
  for (const [name, propagation, text] of [
    ['to-container', 'HostToContainer', 'but it is not a shared or slave mount'],
    ['both-ways', 'Bidirectional', 'but it is not a shared mount'],
  ] as const) {
    const volume = { hostPath: { path: join(shared, 'alone') } };
    await node.create(name, {
      containers: [container('c0', { propagation, privileged: true })],
      volumes: [{ name: 'v', ...volume }],
    });
    await eventually(async () => {
      const said = (await node.client.list(events)).items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ message = '' }) => message);
      assert.ok(
        said.some(
          (message) =>
            message.includes(`path "${join(shared, 'alone')}" is mounted on`) && message.includes(text),
        ),
        said.join('\n'),
      );
    });
    await node.remove(name);
  }
  await mounts.unmountAllBelow(shared);
});
