// From containerd's specification of a Windows container to the one that runc gets.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { FolderReader, SnapshotMount } from './image-layers.ts';
import type { OciMount, OciSpec } from './oci-spec.ts';
import { type BundleInput, type BundlePlan, type HandlerConfig, planBundle } from './wine-bundle.ts';

const folders: Readonly<Record<string, readonly string[]>> = {
  '/s/3/fs': ['Files'],
  '/s/3/fs/Files': ['App', 'Windows'],
  '/s/3/fs/Files/App': ['Data'],
  '/s/3/fs/Files/Windows': ['System32'],
  '/s/3/fs/Files/Windows/System32': ['acme.dll'],
  '/s/2/fs': ['Files', 'Hives'],
  '/s/2/fs/Files': ['Windows', 'License.txt'],
  '/s/2/fs/Files/Windows': ['System32'],
  '/s/2/fs/Files/Windows/System32': ['KERNEL32.dll'],
  '/t/drive_c': ['windows', 'Users', 'ProgramData'],
  '/t/drive_c/windows': ['system32', 'Temp'],
};
/** Folders with these names; `links` are names that are no folders. */
const readerOf = (
  names: (path: string) => readonly string[],
  links: readonly string[] = [],
): FolderReader => ({
  isFolder: (path) => !links.includes(path),
  names: (path) => (links.includes(path) ? [] : names(path)),
});
const reader = readerOf((path) => (Object.hasOwn(folders, path) ? folders[path]! : []));
const snapshot: SnapshotMount = { layers: ['/s/3/fs', '/s/2/fs'], upper: '/s/4/fs' };

const bindOf = (destination: string, source: string, ...options: string[]): OciMount => ({
  destination,
  type: 'bind',
  source,
  options: ['rbind', 'rprivate', ...options],
});

/** As containerd 2 lists them. */
const modeCalls = [
  'chmod',
  'creat',
  'fchmod',
  'fchmodat',
  'fchmodat2',
  'mknod',
  'mknodat',
  'open',
  'openat',
  'openat2',
];
const modeCallsToCome = ['fchmodat3', 'openat3', 'open_by_handle_at', 'lchmod'];

const spec: OciSpec = {
  process: {
    user: { uid: 0, gid: 0 },
    args: ['C:\\app\\server.exe', 'a b', ''],
    env: ['PATH=/usr/local/sbin:/usr/bin', 'HOSTNAME=web-0', 'Path=C:\\app', 'X=a=b', '=bad', 'TERM=xterm'],
    cwd: 'c:\\APP\\data\\new',
    capabilities: { bounding: ['CAP_CHOWN', 'CAP_MKNOD'], effective: ['CAP_CHOWN', 'CAP_SYS_CHROOT'] },
  },
  root: { path: 'rootfs' },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro'] },
    { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup' },
    bindOf('/etc/hosts', '/pod/hosts', 'rw'),
    bindOf('/etc/resolv.conf', '/pod/resolv.conf', 'rw'),
    bindOf('/dev/shm', '/pod/shm', 'rw'),
    bindOf('/var/run/secrets/kubernetes.io/serviceaccount', '/v/token', 'ro'),
    bindOf('C:\\etc\\foo', '/v/foo', 'ro'),
    bindOf('/dev/termination-log', '/v/log', 'rw'),
    bindOf('/proc', '/v/proc', 'rw'),
    bindOf('C:/app/DATA', '/v/data', 'rw'),
  ],
  annotations: { 'io.kubernetes.cri.container-type': 'container' },
  linux: {
    rootfsPropagation: 'rslave',
    namespaces: [
      { type: 'pid', path: '/proc/7/ns/pid' },
      { type: 'network', path: '/proc/7/ns/net' },
      { type: 'mount' },
      { type: 'ipc', path: '/proc/7/ns/ipc' },
      { type: 'uts', path: '/proc/7/ns/uts' },
    ],
    devices: [{ path: '/dev/vda', type: 'b' }],
    maskedPaths: ['/proc/kcore', '/proc/more'],
    seccomp: {
      defaultAction: 'SCMP_ACT_ERRNO',
      syscalls: [
        { names: ['read', 'memfd_create', ...modeCalls, ...modeCallsToCome], action: 'SCMP_ACT_ALLOW' },
        { names: ['io_uring_setup'], action: 'SCMP_ACT_ALLOW' },
      ],
    },
  },
};

const input = (
  change: Partial<BundleInput> = {},
  changeSpec: Partial<OciSpec> = {},
  users: Partial<HandlerConfig['users']> = {},
): BundleInput => ({
  spec: { ...spec, ...changeSpec },
  config: {
    runc: 'runc',
    runtimeRoot: '/r',
    prefix: '/t',
    hideWindows: '/hw',
    hideSystem: '/hs',
    programsDir: '/p',
    stateDir: '/st',
    users: { first: 5000, pods: 2, idsOfPod: 100, ownsFiles: true, namespace: true, ...users },
  },
  firstId: 5100,
  bundle: '/b',
  id: 'abc',
  rootfs: '/b/rootfs',
  snapshot,
  reader,
  readText: (path) =>
    path === '/pod/hosts' ? '127.0.0.1 localhost\n10.0.0.5\tweb-0 web-0.svc # the pod\n' : undefined,
  ...change,
});

const mountAt = (plan: BundlePlan, destination: string): OciMount | undefined =>
  plan.spec.mounts?.find((mount) => mount.destination === destination);
const planLines = (plan: BundlePlan): readonly (readonly string[])[] =>
  (plan.files.get('/b/porthole-mounts') ?? '').split('\n').map((line) => line.split('\t'));
/** In the stage: a mount of runc's, or a place in the tree that runc gets as /wp. */
function placeOf(plan: BundlePlan, destination: string): string | undefined {
  const name = mountAt(plan, destination)?.source?.replace('/b/windows/mounts/', '');
  return destination.startsWith('/wp/') ? `${placeOf(plan, '/wp')}${destination.slice('/wp'.length)}` : name;
}
/** What windows-mounts makes of a destination: the fields after its place. */
function stagedAt(plan: BundlePlan, destination: string): readonly string[] | undefined {
  const place = placeOf(plan, destination);
  const staged = planLines(plan).find(
    ([kind, of]) => (kind === 'bind' || kind === 'overlay') && of === place,
  );
  return staged?.slice(2);
}
const withMounts = (...mounts: OciMount[]): Partial<OciSpec> => ({ mounts });
const withProcess = (change: object): Partial<OciSpec> => ({ process: { ...spec.process, ...change } });

test('the program starts under an init and pinit, arguments untouched', () => {
  const { process, root } = planBundle(input()).spec;
  assert.deepEqual(process?.args, [
    '/.porthole/confine',
    '/usr/bin/catatonit',
    '--',
    '/usr/lib/wine/wine64',
    '\\\\?\\unix\\.porthole\\pinit.exe',
    'C:\\app\\server.exe',
    'a b',
    '',
  ]);
  assert.deepEqual(root, { path: '/r', readonly: true });
  assert.equal(process?.noNewPrivileges, true);
});

test('on a terminal it starts behind the program that makes the terminal raw', () => {
  const { process } = planBundle(input({ spec: { ...spec, ...withProcess({ terminal: true }) } })).spec;
  assert.deepEqual(process?.args?.slice(0, 2), ['/.porthole/rawtty', '/.porthole/confine']);
});

test("the pod's variables travel under a prefix; Linux' PATH and nameless ones stay behind", () => {
  const env = planBundle(input()).spec.process?.env ?? [];
  const pods = env.filter((entry) => entry.startsWith('PORTHOLE_ENV_'));
  assert.deepEqual(pods, ['PORTHOLE_ENV_HOSTNAME=web-0', 'PORTHOLE_ENV_Path=C:\\app', 'PORTHOLE_ENV_X=a=b']);
  assert.ok(env.includes('USER=ContainerAdministrator'));
  assert.ok(env.includes('PORTHOLE_EXIT=\\\\?\\unix\\run\\porthole\\exit-code'));
});

test("C: is the image's layers over the template, its own Windows hidden", () => {
  const plan = planBundle(input());
  assert.deepEqual(stagedAt(plan, '/wp/drive_c'), [
    '/s/4/fs/Files',
    '/s/4/porthole-work/Files',
    '/hw',
    '/s/3/fs/Files',
    '/s/2/fs/Files',
    '/t/drive_c',
  ]);
  assert.equal(stagedAt(plan, '/wp')?.[2], '/t');
  assert.ok(plan.directories.includes('/s/4/fs/Files'));
  assert.ok(plan.directories.includes('/s/4/porthole-work/Prefix'));
});

test("an application layer's files in C:\\Windows lie below Wine's, a base image's are left out", () => {
  const plan = planBundle(input());
  assert.deepEqual(stagedAt(plan, '/wp/drive_c/windows')?.slice(2), [
    '/hs',
    '/t/drive_c/windows',
    '/s/3/fs/Files/Windows',
  ]);
  assert.deepEqual(stagedAt(plan, '/wp/drive_c/windows/system32')?.slice(2), [
    '/t/drive_c/windows/system32',
    '/s/3/fs/Files/Windows/System32',
  ]);
  const base = planBundle(input({ snapshot: { layers: ['/s/2/fs'], upper: '/s/4/fs' } }));
  assert.equal(stagedAt(base, '/wp/drive_c/windows'), undefined);
});

test('every spelling of a mount path lands below C:, parents before children, read-only kept', () => {
  const plan = planBundle(input());
  const below = planLines(plan)
    .map(([kind, place = '']) => [kind, place.replace(/^[0-9]+[/]drive_c[/]/, 'C:')])
    .filter(([, place]) => place?.startsWith('C:'));
  assert.deepEqual(below, [
    ['overlay', 'C:windows'],
    ['overlay', 'C:windows/system32'],
    ['bind', 'C:windows/system32/drivers/etc/hosts'],
    ['bind', 'C:proc'],
    ['bind', 'C:etc/foo'],
    ['bind', 'C:dev/termination-log'],
    ['bind', 'C:App/Data'],
    ['bind', 'C:var/run/secrets/kubernetes.io/serviceaccount'],
    ['folder', 'C:App/Data/new'],
  ]);
  assert.deepEqual(stagedAt(plan, '/wp/drive_c/etc/foo'), ['ro', '/v/foo']);
  assert.equal(mountAt(plan, '/proc')?.type, 'proc');
  assert.deepEqual(stagedAt(plan, '/dev/shm'), ['rw', '/pod/shm']);
  assert.deepEqual(
    stagedAt(plan, '/etc/resolv.conf'),
    ['ro', '/pod/resolv.conf'],
    'nobody counts what is written there',
  );
  assert.equal(mountAt(plan, '/sys/fs/cgroup'), undefined);
});

test('runc mounts and makes nothing where an image or a pod may have a link, and the walls after it', () => {
  const plan = planBundle(input());
  const places = (plan.spec.mounts ?? []).map(({ destination }) => destination);
  assert.deepEqual(
    places.filter((path) => path.startsWith('/wp/')),
    [],
  );
  assert.deepEqual([places[0], places.at(-1)], ['/wp', '/.porthole']);
  assert.equal(plan.spec.process?.cwd, '/');
});

test('the working directory is found whatever its letter case', () => {
  const cwdOf = (plan: BundlePlan): string[] =>
    (plan.spec.process?.env ?? []).filter((entry) => entry.startsWith('PORTHOLE_CWD='));
  assert.deepEqual(cwdOf(planBundle(input())), ['PORTHOLE_CWD=/wp/drive_c/App/Data/new']);
  const windows = planBundle(input({}, withProcess({ cwd: 'C:\\WINDOWS\\System32\\x' })));
  assert.deepEqual(cwdOf(windows), ['PORTHOLE_CWD=/wp/drive_c/windows/system32/x']);
});

test('the network is the pod’s, the process tree its own', () => {
  const plan = planBundle(input());
  assert.deepEqual(plan.spec.linux?.namespaces, [{ type: 'pid' }, { type: 'mount' }, { type: 'user' }]);
  const lines = plan.files.get('/b/porthole-mounts')?.split('\n') ?? [];
  assert.deepEqual(lines.slice(0, 5), [
    'enter\t/proc/7/ns/net',
    'enter\t/proc/7/ns/ipc',
    'enter\t/proc/7/ns/uts',
    'stage\t/b/windows/mounts',
    'owners\t5100\t100',
  ]);
  assert.equal(plan.files.get('/st/entries/abc'), 'enter-pod\t/b/init.pid\n');
  assert.equal(plan.spec.linux?.rootfsPropagation, undefined);
});

test('whatever a bundle asks for, its program has no capability, no device and what Linux pods have hidden', () => {
  for (const user of ['ContainerAdministrator', 'ContainerUser', 'NT AUTHORITY\\System']) {
    const annotations = { 'porthole.dev/run-as-username': user };
    const { process, linux } = planBundle(input({}, { annotations })).spec;
    const { bounding, effective, permitted, inheritable, ambient } = process?.capabilities ?? {};
    assert.deepEqual([bounding, effective, permitted, inheritable, ambient], [[], [], [], [], []]);
    assert.equal(process?.noNewPrivileges, true);
    assert.equal(linux?.devices, undefined);
    assert.deepEqual(
      ['/proc/kcore', '/proc/more', '/proc/keys', '/sys/firmware'].filter(
        (path) => !linux?.maskedPaths?.includes(path),
      ),
      [],
    );
    assert.deepEqual(
      ['/proc/sys', '/proc/sysrq-trigger'].filter((path) => !linux?.readonlyPaths?.includes(path)),
      [],
    );
    const [known, ...ofModes] = linux?.seccomp?.syscalls ?? [];
    assert.deepEqual(known, { names: ['read'], action: 'SCMP_ACT_ALLOW' });
    for (const { names, args } of ofModes) {
      const mode = names.includes('openat') ? 3 : names.includes('open') ? 2 : 1;
      assert.deepEqual(args, [{ index: mode, value: 0o6000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]);
    }
    assert.deepEqual(
      ofModes.map(({ names }) => names),
      [['chmod', 'creat', 'fchmod'], ['fchmodat', 'fchmodat2', 'open'], ['openat']],
    );
  }
});

test('of sockets only the families that Wine makes are allowed, and no door to them without arguments', () => {
  const allow = { action: 'SCMP_ACT_ALLOW' };
  const notVsock = [{ index: 0, value: 40, valueTwo: 0, op: 'SCMP_CMP_NE' }];
  for (const given of [
    [{ names: ['read', 'socket', 'socketcall', 'socketpair'], ...allow }],
    [
      { names: ['read', 'socketcall', 'socketpair'], ...allow },
      { names: ['socket'], ...allow, args: notVsock },
    ],
  ]) {
    const seccomp = { defaultAction: 'SCMP_ACT_ERRNO', syscalls: given };
    const rules = planBundle(input({}, { linux: { ...spec.linux, seccomp } })).spec.linux?.seccomp?.syscalls;
    const [others, ...sockets] = rules ?? [];
    assert.deepEqual(others?.names, ['read', 'socketpair']);
    assert.deepEqual(
      sockets,
      [1, 2, 10, 16].map((value) => ({
        names: ['socket'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value, valueTwo: 0, op: 'SCMP_CMP_EQ' }],
      })),
    );
  }
});

test("a call that the runtime's filter does not know is not allowed because it takes a mode", () => {
  const older = { names: ['read', 'chmod', 'open', 'fchmodat'], action: 'SCMP_ACT_ALLOW' };
  const seccomp = { defaultAction: 'SCMP_ACT_ERRNO', syscalls: [older] };
  const { linux } = planBundle(input({}, { linux: { ...spec.linux, seccomp } })).spec;
  assert.deepEqual(
    linux?.seccomp?.syscalls?.map(({ names }) => names),
    [['read'], ['chmod'], ['fchmodat', 'open']],
  );
});

test("a hosts file that knows the pod's name is used as it is; another is completed", () => {
  const known = planBundle(input());
  assert.deepEqual(stagedAt(known, '/etc/hosts'), ['rw', '/pod/hosts']);
  assert.equal(known.files.has('/b/hosts'), false);
  const completed = planBundle(input({ readText: () => '127.0.0.1 localhost\n# web-0\n' }));
  assert.deepEqual(stagedAt(completed, '/etc/hosts'), ['rw', '/b/hosts']);
  assert.match(completed.files.get('/b/hosts') ?? '', /^127\.0\.0\.1\tweb-0$/m);
  const managed = planBundle(
    input(
      { readText: () => '1.2.3.4 web-0\n' },
      withMounts(bindOf('C:\\Windows\\System32\\drivers\\etc\\hosts', '/k/hosts')),
    ),
  );
  assert.deepEqual(stagedAt(managed, '/etc/hosts'), ['rw', '/k/hosts']);
});

test('a volume in place of the hosts file is as read-only as it was asked for, under both names', () => {
  for (const destination of ['C:\\Windows\\System32\\drivers\\etc\\hosts', '/etc/hosts']) {
    const plan = planBundle(
      input({ readText: () => '1.2.3.4 web-0\n' }, withMounts(bindOf(destination, '/k/hosts', 'ro'))),
    );
    for (const path of ['/etc/hosts', '/wp/drive_c/windows/system32/drivers/etc/hosts'])
      assert.deepEqual(stagedAt(plan, path), ['ro', '/k/hosts'], `${destination} at ${path}`);
  }
});

test('users have the names of a Windows container', () => {
  const as = (name: string | undefined, username?: string) =>
    planBundle(
      input(
        {},
        {
          annotations: name === undefined ? {} : { 'porthole.dev/run-as-username': name },
          ...withProcess({ user: { uid: 5, gid: 5, ...(username ? { username } : {}) } }),
        },
      ),
    );
  assert.equal(as(undefined).container.user, 'ContainerAdministrator');
  assert.equal(as(undefined, 'ContainerUser').container.user, 'ContainerUser');
  assert.equal(as('containeruser').container.user, 'ContainerUser');
  assert.equal(as('NT AUTHORITY\\System').container.user, 'SYSTEM');
  for (const unknown of ['mallory', '__proto__', 'constructor', 'EVIL\\ContainerUser']) {
    assert.throws(() => as(unknown), /The user name or password is incorrect/);
  }
});

test('without a known overlay the mounted root file system is the only layer', () => {
  const plan = planBundle(
    input({ snapshot: undefined, reader: readerOf((path) => (path === '/b/rootfs' ? ['Files'] : [])) }),
  );
  assert.deepEqual(stagedAt(plan, '/wp/drive_c'), [
    '/b/windows/changes/Files',
    '/b/windows/work/Files',
    '/hw',
    '/b/rootfs/Files',
    '/t/drive_c',
  ]);
});

const asUser = (users: Partial<HandlerConfig['users']>): BundlePlan => planBundle(input({}, {}, users));

test("a pod's programs are a user of its own, and root of nothing", () => {
  const { spec, owned } = asUser({});
  assert.deepEqual(spec.process?.user, { uid: 0, gid: 0 });
  const mapping = [{ containerID: 0, hostID: 5100, size: 100 }];
  assert.deepEqual([spec.linux?.uidMappings, spec.linux?.gidMappings], [mapping, mapping]);
  assert.deepEqual(owned, ['/s/4/fs/Prefix', '/s/4/fs/Files', '/s/4/fs/Windows', '/s/4/fs/System32']);
});

test('where the kernel has no user namespaces for containers it is an unprivileged user', () => {
  const { spec } = asUser({ namespace: false });
  assert.deepEqual(spec.process?.user, { uid: 5100, gid: 5100 });
  assert.equal(spec.linux?.uidMappings, undefined);
  assert.deepEqual(spec.linux?.namespaces, [{ type: 'pid' }, { type: 'mount' }]);
});

test('where nobody can be shown as an owner either, what it writes is open and home and work folder are its own', () => {
  const plan = asUser({ namespace: false, ownsFiles: false });
  assert.deepEqual(plan.spec.process?.user, { uid: 5100, gid: 5100, umask: 0 });
  assert.doesNotMatch(plan.files.get('/b/porthole-mounts') ?? '', /owners/);
  const wanted = ['/s/4/fs/Files/Users/ContainerUser/AppData/Local/Temp', '/s/4/fs/Files/App/Data/new'];
  assert.deepEqual(
    wanted.filter((path) => plan.owned.includes(path) && plan.directories.includes(path)),
    wanted,
  );
  assert.ok(plan.owned.includes('/st/exit-codes/abc'));
});

const without = (part: object): Partial<OciSpec> => ({ linux: { ...spec.linux, ...part } });

const hostile: readonly [string, Partial<OciSpec>, RegExp][] = [
  ['a mount on another drive', withMounts(bindOf('D:\\x', '/v')), /no drive D:/],
  ['a mount of the whole drive', withMounts(bindOf('C:\\', '/v')), /root of drive C:/],
  ['a mount that climbs to the root', withMounts(bindOf('C:\\a\\..\\..', '/v')), /root of drive C:/],
  ['a mount with a NUL', withMounts(bindOf('C:\\a\0b', '/v')), /control character/],
  ['a named pipe', withMounts(bindOf('\\\\.\\pipe\\docker', '/v')), /named pipe/],
  ['a network share', withMounts(bindOf('\\\\host\\share', '/v')), /network shares/],
  ['a device name', withMounts(bindOf('C:\\NUL', '/v')), /device/],
  ['a working directory on another drive', withProcess({ cwd: 'E:\\' }), /no drive E:/],
  ['a bundle without a filter of calls', without({ seccomp: undefined }), /RuntimeDefault/],
  ['a filter that allows', without({ seccomp: { defaultAction: 'SCMP_ACT_ALLOW' } }), /RuntimeDefault/],
  ["a bundle in the machine's network", without({ namespaces: [] }), /network namespace of a pod/],
  [
    'a bundle with a network of its own',
    without({ namespaces: [{ type: 'network' }] }),
    /network namespace of a pod/,
  ],
  [
    'a volume whose path adds a mount',
    withMounts(bindOf('C:\\x', '/v\nbind\t9\trw\t/')),
    /no path for a mount/,
  ],
  ['no command', withProcess({ args: [] }), /no command/],
  ['a HostProcess container', { annotations: { 'porthole.dev/host-process': 'true' } }, /real Windows node/],
];
for (const [what, change, reason] of hostile) {
  test(`${what} is refused`, () => assert.throws(() => planBundle(input({}, change)), reason));
}

test('a path that climbs stays below C:', () => {
  const plan = planBundle(input({}, withMounts(bindOf('C:\\..\\..\\etc\\passwd', '/v'))));
  assert.ok(stagedAt(plan, '/wp/drive_c/etc/passwd'));
});

test('a path that would add mount options is refused', () => {
  const upper = '/s/x,lowerdir=/etc';
  assert.throws(
    () => planBundle(input({ snapshot: { layers: ['/s/3/fs'], upper } })),
    /no path with a comma/,
  );
});

test("a layer whose folders are links to the host's is not followed", () => {
  const evil = { layers: ['/s/evil'], upper: '/s/4/fs' };
  const lowers = (links: readonly string[]): string => {
    const names = (path: string): readonly string[] =>
      path.startsWith('/s/evil') ? ['Files', 'Windows', 'System32'] : (folders[path] ?? []);
    const plan = planBundle(input({ snapshot: evil, reader: readerOf(names, links) }));
    return plan.files.get('/b/porthole-mounts') ?? '';
  };
  assert.equal(lowers(['/s/evil/Files']).includes('evil'), false);
  assert.equal(lowers(['/s/evil/Files/Windows']).includes('evil/Files/Windows'), false);
  assert.equal(lowers(['/s/evil/Files/Windows/System32']).includes('evil/Files/Windows/System32'), false);
});
