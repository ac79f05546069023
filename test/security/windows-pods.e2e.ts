// What a program in an emulated Windows pod tries against the machine that it runs on, by Wine's ways and past Wine.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { cacheDir } from '../harness/windows-runtime.ts';

const image = 'porthole.local/sample/web-windows:ltsc2022';
const accessDenied = 5;
const [fileNotFound, pathNotFound, badExe] = [2, 3, 193];
const [eperm, enoent, esrch, eacces, erofs, enosys] = [1, 2, 3, 13, 30, 38];
/** What a masked file gives: nothing. */
const empty = 38;

/** Attack, and the errors of which one must be the answer. */
const answers: readonly (readonly [string, ...number[]])[] = [
  ['windows core_pattern', accessDenied, 19],
  ['windows core_pattern dot', accessDenied, 19],
  ['windows shadow', fileNotFound, pathNotFound],
  ['windows containerd', fileNotFound, pathNotFound],
  ['windows wine', accessDenied, 19],
  ['windows z', fileNotFound, pathNotFound],
  ['windows z device', fileNotFound, pathNotFound],
  ['core_pattern', erofs, eacces],
  ['kernel setting', erofs, eacces],
  ['sysrq', erofs, eacces, enoent],
  ['oom score', eacces, eperm],
  ['kcore', empty, eacces, enoent],
  ['timer list', empty, eacces],
  ['keys', empty, eacces],
  ['shadow', enoent],
  ['passwd write', erofs, eacces],
  ['wine write', erofs, eacces],
  ['wine new', erofs, eacces],
  ['porthole new', erofs, eacces],
  ['root new', erofs, eacces],
  ['sys write', erofs, eacces, enoent],
  ['cgroup', enoent],
  ['disk', enoent],
  ['memory', enoent],
  ['fuse', enoent],
  ['mknod', eperm],
  ['mount', eperm],
  ['chroot', eperm],
  ['unshare user', eperm],
  ['unshare mount', eperm],
  ['setns', eperm],
  ['setuid', eperm],
  ['add_key', eperm],
  ['keyctl', eperm],
  ['ptrace outside', esrch],
  ['kill outside', esrch],
  ['bpf', eperm],
  ['perf', eperm],
  ['module', eperm],
  ['file handle', eperm],
  ['io_uring', eperm, enosys],
  ['memfd', eperm],
  ['vsock', eperm],
  ['alg', eperm],
  ['packet', eperm],
  ['execveat', eperm],
  ['set-id chmod', eperm],
  ['set-id chmod group', eperm],
  ['set-id chmod both', eperm],
  ['set-id chmod wide', eperm],
  ['set-id fchmod', eperm],
  ['set-id fchmodat', eperm],
  ['set-id fchmodat2', eperm, enosys],
  ['set-id open', eperm],
  ['set-id openat', eperm],
  ['set-id openat2', eperm, enosys],
  ['set-id creat', eperm],
  ['file rights', eperm],
  ['elf by call', eacces],
  ['elf in /tmp', eacces],
  ['elf by Windows', accessDenied, badExe],
];

/** How a program of Node may write a path of Linux: the star stands for it. True: with such a name the pod's own files are found. */
const ways: readonly (readonly [string, string, boolean])[] = [
  ["Wine's device", '\\\\?\\unix*', true],
  ["Wine's device by a dot", '\\\\.\\unix*', true],
  ["Wine's device by slashes", '//?/unix*', true],
  ['climbing from the work folder', '\\\\?\\unix\\proc\\self\\cwd\\..\\..\\..*', true],
  ['the root of the first process', '\\\\?\\unix\\proc\\1\\root*', false],
  ['drive Z:', 'Z:*', false],
  ['a drive of its own making', 'Y:*', false],
  ['a drive to the root of the first process', 'X:*', false],
  ['climbing from C:', 'C:\\..\\..*', false],
  ['the global root', '\\\\?\\GLOBALROOT\\??\\unix*', false],
  ['a share of itself', '\\\\localhost\\c$*', false],
  ['a named pipe', '\\\\.\\pipe*', false],
  ['a path of Linux', '*', false],
];
const ownFile = '/etc/hosts';

let cluster: TestCluster;
let hostPaths: readonly string[];
before(async () => {
  cluster = await startTestCluster({ linux: 0, windows: 1 });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name], {
    timeoutMs: 300_000,
  });
  assert.equal(loaded.code, 0, loaded.stderr);
  const paths = clusterPaths(cluster.home, cluster.name);
  const node = nodeLayout(paths.node('windows-1'));
  hostPaths = [
    cluster.home,
    cluster.kubeconfig,
    join(paths.server, 'pki'),
    node.root,
    node.kubeconfig,
    node.kubelet,
    // Other pods' users, and what Wine writes for them.
    node.handler,
    node.containerdRoot,
    node.containerdState,
    node.containerdSocket,
    node.cniSocket,
    cacheDir,
  ];
  for (const path of hostPaths) statSync(path);
});
after(() => cluster?.down());

interface NodeAnswer {
  readonly path: string;
  readonly open: string;
  readonly list: string;
  readonly write: string;
  readonly connect: string;
}

interface Answers {
  /** A way of `ways` to what came of it, by path. */
  readonly byNode: Readonly<Record<string, readonly NodeAnswer[]>>;
  /** On the machine: what the pod has on its volume. */
  readonly volume: string;
  readonly of: ReadonlyMap<string, string>;
  readonly text: string;
}

async function attack(namespace: string): Promise<Answers> {
  const { kubectl } = cluster;
  const build = (name: string, target: 'windows' | 'linux'): Promise<string> =>
    buildNative(linuxProcesses, cacheDir, {
      name,
      target,
      source: fileURLToPath(new URL(`./programs/${name}.c`, import.meta.url)),
    });
  const files = {
    'attacks.exe': await build('attacks', 'windows'),
    escaped: await build('escaped', 'linux'),
  };
  const scripts = {
    'node-attacks.js': fileURLToPath(new URL('./programs/node-attacks.js', import.meta.url)),
  };
  const from = Object.entries({ ...files, ...scripts }).map(([name, path]) => `--from-file=${name}=${path}`);
  await kubectl.ok(['create', 'configmap', 'programs', '-n', namespace, ...from]);
  await kubectl.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'stranger', namespace },
      spec: {
        os: { name: 'windows' },
        nodeSelector: { 'kubernetes.io/os': 'windows' },
        securityContext: { runAsNonRoot: true, windowsOptions: { runAsUserName: 'ContainerUser' } },
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: 'main',
            image,
            volumeMounts: [
              { name: 'programs', mountPath: 'C:\\programs' },
              { name: 'volume', mountPath: 'C:\\volume' },
            ],
          },
        ],
        volumes: [
          { name: 'programs', configMap: { name: 'programs' } },
          { name: 'volume', emptyDir: {} },
        ],
      },
    }),
  );
  await kubectl.ok(['wait', '-n', namespace, '--for=condition=Ready', 'pod/stranger', '--timeout=60s']);
  const exec = (...command: string[]): Promise<string> =>
    kubectl.ok(['exec', '-n', namespace, 'stranger', '--', ...command]);
  await exec('cmd', '/c', 'copy C:\\programs\\escaped C:\\escaped.exe');
  const text = await exec(
    'C:\\programs\\attacks.exe',
    '-elf',
    '/wp/drive_c/escaped.exe',
    'C:\\escaped.exe',
    '-volume',
    '/wp/drive_c/volume',
    ...hostPaths,
  );
  const forms = JSON.stringify(Object.fromEntries(ways));
  const byNode = JSON.parse(
    await exec('node', 'C:\\programs\\node-attacks.js', forms, ownFile, ...hostPaths),
  ) as Answers['byNode'];
  const uid = await kubectl.ok(['get', 'pod', '-n', namespace, 'stranger', '-o', 'jsonpath={.metadata.uid}']);
  const { kubelet } = nodeLayout(clusterPaths(cluster.home, cluster.name).node('windows-1'));
  const volume = join(kubelet, 'pods', uid, 'volumes/kubernetes.io~empty-dir/volume');
  const lines = text.split(/\r?\n/).map((line) => line.split(': '));
  return { text, byNode, volume, of: new Map(lines.map(([name = '', answer = '']) => [name, answer])) };
}

for (const level of ['privileged', 'restricted']) {
  describe(`a Windows pod in a namespace that enforces ${level}`, () => {
    let seen: Answers;
    before(async () => {
      await cluster.kubectl.ok(['create', 'namespace', level]);
      const label = `pod-security.kubernetes.io/enforce=${level}`;
      await cluster.kubectl.ok(['label', 'namespace', level, label]);
      seen = await attack(level);
    });
    test(`the machine's folders, the agent's and the cluster's own are not there (${level})`, () => {
      const places = [...seen.of].filter(([name]) => name.startsWith('host '));
      assert.equal(places.length, 2 * hostPaths.length);
      for (const place of places) assert.equal(place[1], `denied ${enoent}`, place[0]);
    });
    test(`no process but the container's own is seen (${level})`, () => {
      const names = (seen.of.get('processes') ?? '').split(' ');
      assert.ok(names.includes('attacks.exe'), seen.text);
      const others = names.filter((name) => !/^(.*[.]exe|catatonit|wine.*|DelayedTaskSche)$/.test(name));
      assert.deepEqual(others, []);
    });
    for (const [way, , works] of ways) {
      test(`node.exe reaches nothing of the machine by ${way} (${level})`, () => {
        const [own, ...others] = seen.byNode[way] ?? [];
        assert.equal(own?.open, works ? 'done' : 'ENOENT');
        assert.equal(others.length, hostPaths.length);
        for (const { path, ...outcomes } of others) {
          for (const [attempt, code] of Object.entries(outcomes)) {
            assert.equal(code, 'ENOENT', `${attempt} ${path}`);
          }
        }
      });
    }
    test(`no file on a volume has set-ID bits on the machine's disk (${level})`, () => {
      assert.equal(seen.of.get('volume file'), 'done');
      assert.equal(seen.of.get('set-id none'), 'done', 'other modes can be set');
      const modes = readdirSync(seen.volume).map((name) => [name, statSync(join(seen.volume, name)).mode]);
      assert.deepEqual(modes, [['file', 0o100755]]);
    });
    for (const [name, ...errors] of answers) {
      test(`${name} is denied (${level})`, () => {
        const denied = errors.map((error) => `denied ${error}`);
        assert.ok(denied.includes(seen.of.get(name) ?? ''), `${name}: ${seen.of.get(name)}, not ${denied}`);
      });
    }
  });
}

test('on the machine the programs of each pod are a user of their own, who is nobody else', () => {
  const owners = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((pid) => {
      const status = readIfThere(`/proc/${pid}/status`);
      const program = /^Name:\t(.*)/.exec(status)?.[1] ?? '';
      const uids = /^Uid:\t(.*)/m.exec(status)?.[1]?.split('\t') ?? [];
      return /[.]exe$|^wineserver|^catatonit/.test(program) ? [new Set(uids)] : [];
    });
  assert.ok(owners.length > 8, 'two pods run');
  for (const uids of owners) assert.equal(uids.size, 1);
  const ids = new Set(owners.flatMap((uids) => [...uids].map(Number)));
  assert.equal(ids.size, 2, [...ids].join());
  for (const id of ids) assert.ok(id >= 0x7000_0000, String(id));
});

test('no mount of a Windows pod brings rights or devices with its files', () => {
  const first = readdirSync('/proc').filter(
    (name) => /^[0-9]+$/.test(name) && readIfThere(`/proc/${name}/comm`).trim() === 'catatonit',
  );
  const mounts = first.flatMap((pid) =>
    readIfThere(`/proc/${pid}/mountinfo`)
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([, , , , path = '', options = '']) => ({ path, options: options.split(',') })),
  );
  const files = mounts.filter(({ path }) => /^\/(wp|etc|tmp|run|\.porthole)/.test(path));
  assert.ok(files.filter(({ path }) => path === '/wp/drive_c/volume').length === 2, JSON.stringify(files));
  for (const { path, options } of files) {
    assert.ok(options.includes('nosuid') && options.includes('nodev'), `${path} ${options}`);
  }
});

test('a Windows pod has a limit of processes, as Linux pods have', () => {
  const limits = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && readIfThere(`/proc/${name}/comm`).trim() === 'wineserver64')
    .map((pid) => {
      const groups = readIfThere(`/proc/${pid}/cgroup`);
      const group = /^[0-9]+:pids:(.*)$/m.exec(groups)?.[1] ?? /^0::(.*)$/m.exec(groups)?.[1] ?? '';
      const root = groups.includes(':pids:') ? '/sys/fs/cgroup/pids' : '/sys/fs/cgroup';
      return readIfThere(join(root, group, '../pids.max')).trim();
    });
  assert.equal(limits.length, 2);
  for (const limit of limits) assert.match(limit, /^[1-9][0-9]*$/);
});

test('the node says how its pods are kept apart', async () => {
  const node = [
    'get',
    'node',
    'windows-1',
    '-o',
    'jsonpath={.metadata.annotations.porthole\\.dev/emulated-isolation}',
  ];
  assert.match(await cluster.kubectl.ok(node), /^(user namespaces|unprivileged users.*)$/);
});

test('a HostProcess pod is ended with the reason, in no state that hangs', async () => {
  const { kubectl } = cluster;
  await kubectl.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'host-process', namespace: 'privileged' },
      spec: {
        os: { name: 'windows' },
        hostNetwork: true,
        securityContext: {
          windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' },
        },
        containers: [{ name: 'main', image }],
      },
    }),
  );
  await kubectl.ok([
    'wait',
    '-n',
    'privileged',
    '--for=jsonpath={.status.phase}=Failed',
    'pod/host-process',
    '--timeout=60s',
  ]);
  const status = await kubectl.ok([
    'get',
    'pod',
    '-n',
    'privileged',
    'host-process',
    '-o',
    'jsonpath={.status.reason}: {.status.message}',
  ]);
  assert.match(status, /^HostProcessNotSupported: .*need a real Windows node/);
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
