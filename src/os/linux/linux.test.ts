// What Linux says of itself, parsed; and files read and removed with care.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Processes } from '../processes.ts';
import { createLinuxCgroups, weightOfShares } from './cgroups-linux.ts';
import { linuxFiles } from './files-linux.ts';
import { createLinuxMounts, parseMountInfo } from './mounts-linux.ts';
import { bootedAtMs, busyNs, memoryField } from './stats-linux.ts';

test('mountinfo is parsed with optional fields and octal escapes', () => {
  const text =
    '36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:2 - tmpfs tmpfs rw,size=1k\nbroken line\n';
  assert.deepEqual(parseMountInfo(text), [
    {
      id: 36,
      parent: 35,
      target: '/a b',
      options: ['rw', 'noatime'],
      shared: true,
      type: 'tmpfs',
      source: 'tmpfs',
    },
  ]);
});

/** A machine whose table of mounts shrinks by what umount is told. */
function mountTable(lines: readonly { id: number; parent: number; target: string; shared?: boolean }[]) {
  let left = [...lines];
  const calls: string[][] = [];
  let reads = 0;
  const run = async (command: string, args: readonly string[]) => {
    calls.push([command, ...args]);
    const failed = { code: 32, stdout: Buffer.from(''), stderr: Buffer.from('not mounted') };
    let code = 0;
    if (command === 'umount')
      for (const target of args.slice(2)) {
        const at = left.findLastIndex((line) => line.target === target);
        if (at < 0) code = 32;
        else left = left.toSpliced(at, 1);
      }
    return { ...failed, code };
  };
  const table = async (): Promise<string> => {
    reads++;
    return left
      .map((m) => `${m.id} ${m.parent} 0:1 / ${m.target} rw ${m.shared ? 'shared:1 ' : ''}- tmpfs tmpfs rw`)
      .join('\n');
  };
  const mounts = createLinuxMounts({ run } as unknown as Processes, table);
  return { mounts, calls, left: () => left.map(({ target }) => target), reads: () => reads };
}

test('1,500 mounts of a pod go with a look at all mounts before and one after, and a program for each hundred', async () => {
  const many = Array.from({ length: 1500 }, (_, i) => ({
    id: 100 + i,
    parent: 1,
    target: `/pods/a/v${i}`,
    shared: true,
  }));
  const other = { id: 99, parent: 1, target: '/pods/ab' };
  const { mounts, calls, left, reads } = mountTable([other, ...many]);
  await mounts.unmountAllBelow('/pods/a');
  assert.deepEqual(left(), ['/pods/ab']);
  assert.equal(reads(), 2);
  assert.deepEqual([calls.length, new Set(calls.map(([command]) => command)).size], [15, 1]);
});

test('those who want a tmpfs while one is mounted share the next program; each is told its own failure', async () => {
  const calls: string[] = [];
  let broken = '';
  const run = async (command: string, args: readonly string[]) => {
    const table = args.includes('--fstab') ? readFileSync(args.at(-1)!, 'utf8') : undefined;
    calls.push(table ?? [command, ...args].join(' '));
    const code = broken !== '' && calls.at(-1)!.includes(broken) ? 32 : 0;
    return { code, stdout: Buffer.from(''), stderr: Buffer.from(`no space for ${args.at(-1)}`) };
  };
  const mounts = createLinuxMounts({ run } as unknown as Processes, async () => '');
  const folder = mkdtempSync(join(tmpdir(), 'tmpfs-'));
  try {
    const targets = ['a', 'b', 'c d'].map((name) => join(folder, name));
    for (const target of targets) mkdirSync(target);
    await Promise.all(targets.map((target) => mounts.tmpfs(target, { sizeBytes: 4096, mode: 0o777 })));
    const flags = 'nosuid,nodev,mode=777,size=4096';
    assert.deepEqual(calls, [
      `mount -t tmpfs -o ${flags} tmpfs ${folder}/a`,
      `tmpfs ${folder}/b tmpfs ${flags} 0 0\ntmpfs ${folder}/c\\040d tmpfs ${flags} 0 0\n`,
    ]);
    broken = `${folder}/b`;
    const results = await Promise.allSettled(targets.map((target) => mounts.tmpfs(target)));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    await assert.rejects(mounts.tmpfs(targets[1]!), /no space for .*\/b$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what lies in a mount goes first, and nothing of it spreads; what fails and stays is told', async () => {
  const nested = mountTable([
    { id: 10, parent: 1, target: '/p/a', shared: true },
    { id: 11, parent: 10, target: '/p/a/in', shared: true },
    { id: 12, parent: 11, target: '/p/a/in' },
  ]);
  await nested.mounts.unmountAllBelow('/p');
  assert.deepEqual(nested.left(), []);
  assert.deepEqual(nested.calls, [
    ['mount', '--make-rprivate', '--', '/p/a'],
    ['umount', '--lazy', '--', '/p/a/in', '/p/a/in', '/p/a'],
  ]);
  const refuses: Processes['run'] = async () => ({
    code: 32,
    stdout: Buffer.from(''),
    stderr: Buffer.from('umount: /p/a: must be superuser'),
  });
  const mounts = createLinuxMounts(
    { run: refuses } as Processes,
    async () => '10 1 0:1 / /p/a rw - tmpfs tmpfs rw',
  );
  await assert.rejects(mounts.unmountAllBelow('/p'), /must be superuser/);
});

test('shares become the weight that runc computes', () => {
  assert.deepEqual([2, 1024, 262144].map(weightOfShares), [1, 39, 10000]);
});

test('meminfo and stat give bytes and nanoseconds', () => {
  assert.equal(memoryField('MemTotal:       24 kB\nMemAvailable:    8 kB\n', 'MemAvailable'), 8192);
  assert.equal(bootedAtMs('cpu  10 0 5\nintr 1 btime 2\nbtime 1767225600\n'), Date.UTC(2026, 0, 1));
  assert.equal(busyNs('cpu  10 0 5 100 7 0 0 0 0 0\n'), 150_000_000);
});

test('a file is read with a bound, written with its mode whatever the umask, and removed without following links', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'files-'));
  try {
    const file = join(folder, 'a');
    await linuxFiles.write(file, 'hello', { mode: 0o666 });
    assert.equal((await linuxFiles.lstat(file))!.mode, 0o666);
    await assert.rejects(linuxFiles.read(file, { maxBytes: 4 }), /larger than 4 bytes/);
    await assert.rejects(linuxFiles.write(file, 'x', { exclusive: true }));
    assert.equal(await linuxFiles.readIfThere(join(folder, 'none')), undefined);
    await linuxFiles.makeDirectory(join(folder, 'd'), 0o777);
    assert.equal((await linuxFiles.stat(join(folder, 'd')))!.mode, 0o777);
    await linuxFiles.symlink(file, join(folder, 'd', 'link'));
    await linuxFiles.remove(join(folder, 'd'));
    assert.equal((await linuxFiles.read(file)).toString(), 'hello');
    await using open = await linuxFiles.open(file);
    assert.equal((await open.readAt(1, 100)).toString(), 'ello');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What stands in for a file system of control groups. */
function kernel(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'cgroups-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** A process that a group lists until it has ended; resolves with the signal that ended it. */
function member(t: TestContext, file: string, command: readonly string[]): Promise<NodeJS.Signals | null> {
  const child = spawn(command[0]!, command.slice(1), { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  writeFileSync(file, `0\n${child.pid}\n`);
  return new Promise((resolve) =>
    child.once('exit', (_, signal) => {
      writeFileSync(file, '');
      resolve(signal);
    }),
  );
}

test('what is left of a control group in one hierarchy of version 1 is found, and removed', async (t) => {
  const root = kernel(t, { 'memory/cgroup.procs': '', 'memory/pods/a/x': '', 'pids/pods/cgroup.procs': '' });
  rmSync(join(root, 'memory/pods/a/x'));
  mkdirSync(join(root, 'pids/pods/a'));
  mkdirSync(join(root, 'systemd/pods/b/deep'), { recursive: true });
  const cgroups = createLinuxCgroups(root);
  assert.deepEqual((await cgroups.children('/pods')).toSorted(), ['a', 'b']);
  for (const name of ['a', 'b']) await cgroups.remove(`/pods/${name}`);
  assert.deepEqual(await cgroups.children('/pods'), []);
  assert.deepEqual(await cgroups.children('/none'), []);
});

test('all of a control group is killed with its children, in whichever hierarchy of version 1 it is', async (t) => {
  const root = kernel(t, {
    'cpuset/cgroup.procs': '',
    'memory/cgroup.procs': '',
    'memory/pod/id/cgroup.procs': '',
    'memory/pod/id/own/deep/cgroup.procs': '',
  });
  const groups = ['', 'own/deep/'].map((place) => join(root, `memory/pod/id/${place}cgroup.procs`));
  const ends = groups.map((group) => member(t, group, ['sleep', '1000']));
  await createLinuxCgroups(root).kill('/pod/id');
  for (const group of groups) assert.equal(readFileSync(group, 'utf8'), '');
  assert.deepEqual(await Promise.all(ends), ['SIGKILL', 'SIGKILL']);
  await createLinuxCgroups(root).kill('/pod/none');
});

test('on version 2 the kernel kills all of a group at once', async (t) => {
  const root = kernel(t, {
    'cgroup.controllers': 'pids\n',
    'pod/id/cgroup.procs': '',
    'pod/id/cgroup.kill': '',
    'pod/id/own/cgroup.procs': '',
  });
  // The kernel's part: it ends by itself once it is told to.
  const told = ['sh', '-c', 'until [ "$(cat "$0")" = 1 ]; do :; done', join(root, 'pod/id/cgroup.kill')];
  const group = join(root, 'pod/id/own/cgroup.procs');
  const end = member(t, group, told);
  await createLinuxCgroups(root).kill('/pod/id');
  assert.equal(readFileSync(group, 'utf8'), '');
  assert.equal(await end, null);
});

test('limits of a control group are written in the words of version 1 and of version 2', async (t) => {
  const limits = { pidsLimit: 4096, memoryLimitBytes: 1 << 20, cpuShares: 1024 };
  const one = kernel(t, {
    'pids/cgroup.procs': '',
    'pids/all/pod/pids.max': 'max',
    'memory/cgroup.procs': '',
    'memory/all/pod/memory.limit_in_bytes': '-1',
    'cpu/cgroup.procs': '',
    'cpu/all/pod/cpu.shares': '2',
  });
  await createLinuxCgroups(one).ensure('/all/pod', limits);
  const read = (root: string, path: string): string => readFileSync(join(root, path), 'utf8');
  assert.equal(read(one, 'pids/all/pod/pids.max'), '4096');
  assert.equal(read(one, 'memory/all/pod/memory.limit_in_bytes'), '1048576');
  assert.equal(read(one, 'cpu/all/pod/cpu.shares'), '1024');
  const two = kernel(t, {
    'cgroup.controllers': 'cpu memory pids\n',
    'all/cgroup.controllers': 'cpu memory pids\n',
    'all/pod/pids.max': 'max',
    'all/pod/memory.max': 'max',
    'all/pod/cpu.weight': '1',
  });
  await createLinuxCgroups(two).ensure('/all/pod', limits);
  assert.equal(read(two, 'all/pod/pids.max'), '4096');
  assert.equal(read(two, 'all/pod/memory.max'), '1048576');
  assert.equal(read(two, 'all/pod/cpu.weight'), String(weightOfShares(1024)));
});
