// What Linux says of itself, parsed; and files read and removed with care.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createLinuxCgroups, weightOfShares } from './cgroups-linux.ts';
import { linuxFiles } from './files-linux.ts';
import { parseMountInfo } from './mounts-linux.ts';
import { busyNs, memoryField } from './stats-linux.ts';

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

test('shares become the weight that runc computes', () => {
  assert.deepEqual([2, 1024, 262144].map(weightOfShares), [1, 39, 10000]);
});

test('meminfo and stat give bytes and nanoseconds', () => {
  assert.equal(memoryField('MemTotal:       24 kB\nMemAvailable:    8 kB\n', 'MemAvailable'), 8192);
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

test('S19: limits of a control group are written in the words of version 1 and of version 2', async (t) => {
  const limits = { pidsLimit: 4096, memoryLimitBytes: 1 << 20, cpuShares: 1024 };
  const kernel = (files: Record<string, string>): string => {
    const root = mkdtempSync(join(tmpdir(), 'cgroups-'));
    t.after(() => rmSync(root, { recursive: true }));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  };
  const one = kernel({
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
  const two = kernel({
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
