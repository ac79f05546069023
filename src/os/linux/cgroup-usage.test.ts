// What control groups used, as both versions of the kernel's files tell it.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Cgroups } from '../cgroups.ts';
import { createLinuxCgroups } from './cgroups-linux.ts';
import { trafficOf } from './stats-linux.ts';

function groups(t: TestContext, files: Readonly<Record<string, string>>): Cgroups {
  const root = mkdtempSync(join(tmpdir(), 'usage-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return createLinuxCgroups(root);
}

const expected = {
  cpu: {
    usageNs: 5_000_000_000,
    userNs: 3_000_000_000,
    systemNs: 2_000_000_000,
    limit: { quotaUs: 50_000, periodUs: 100_000, periods: 10, throttledPeriods: 4, throttledNs: 7000 },
  },
  memory: {
    usageBytes: 1000,
    workingSetBytes: 700,
    rssBytes: 600,
    cacheBytes: 350,
    swapBytes: 20,
    mappedBytes: 90,
    pageFaults: 11,
    majorPageFaults: 1,
    maxUsageBytes: 1500,
    failures: 2,
    oomKills: 3,
    limitBytes: 4096,
  },
  // No machine has it, so it is told by its number.
  io: [{ device: '4095:7', readBytes: 512, writtenBytes: 1024, reads: 1, writes: 2 }],
  threads: 3,
};

test('what a group has used is the same on version 1 and on version 2', async (t) => {
  const one = groups(t, {
    'cpuacct/pod/cpuacct.usage': '5000000000\n',
    'cpuacct/pod/cpuacct.stat': 'user 300\nsystem 200\n',
    'cpu/pod/cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 7000\n',
    'cpu/pod/cpu.cfs_quota_us': '50000\n',
    'cpu/pod/cpu.cfs_period_us': '100000\n',
    'memory/pod/memory.usage_in_bytes': '1000\n',
    'memory/pod/memory.stat':
      'rss 1\ninactive_file 1\ntotal_rss 600\ntotal_cache 350\ntotal_swap 20\ntotal_mapped_file 90\ntotal_inactive_file 300\ntotal_pgfault 11\ntotal_pgmajfault 1\n',
    'memory/pod/memory.max_usage_in_bytes': '1500\n',
    'memory/pod/memory.failcnt': '2\n',
    'memory/pod/memory.limit_in_bytes': '4096\n',
    'memory/pod/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
    'memory/cgroup.procs': '',
    'memory/pod/cgroup.procs': '0\n17\n',
    'blkio/pod/blkio.throttle.io_service_bytes_recursive':
      '4095:7 Read 512\n4095:7 Write 1024\n4095:7 Total 1536\nTotal 1536\n',
    'blkio/pod/blkio.throttle.io_serviced_recursive': '4095:7 Read 1\n4095:7 Write 2\nTotal 3\n',
    'pids/pod/pids.current': '3\n',
  });
  const two = groups(t, {
    'cgroup.controllers': 'cpu io memory pids\n',
    'pod/cpu.stat':
      'usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 7\n',
    'pod/cpu.max': '50000 100000\n',
    'pod/memory.current': '1000\n',
    'pod/memory.stat': 'anon 600\nfile 350\nfile_mapped 90\ninactive_file 300\npgfault 11\npgmajfault 1\n',
    'pod/memory.swap.current': '20\n',
    'pod/memory.peak': '1500\n',
    'pod/memory.events': 'low 0\nmax 2\noom 0\noom_kill 3\n',
    'pod/memory.max': '4096\n',
    'pod/cgroup.procs': '0\n17\n',
    'pod/io.stat': '4095:7 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=0 dios=0\n',
    'pod/pids.current': '3\n',
  });
  for (const each of [one, two]) {
    assert.deepEqual(await each.usages()('/pod'), expected, `version ${each.version}`);
    assert.deepEqual(await each.members('/pod'), [17]);
    assert.deepEqual(await each.usages()('/none'), {
      cpu: undefined,
      memory: undefined,
      io: [],
      threads: undefined,
    });
    assert.deepEqual(await each.members('/none'), []);
  }
});

test('a group without limits has none', async (t) => {
  const one = groups(t, {
    'cpuacct/pod/cpuacct.usage': '1\n',
    'cpu/pod/cpu.cfs_quota_us': '-1\n',
    'memory/pod/memory.usage_in_bytes': '1\n',
    'memory/pod/memory.limit_in_bytes': '9223372036854771712\n',
  });
  const two = groups(t, {
    'cgroup.controllers': '',
    'pod/cpu.stat': 'usage_usec 1\n',
    'pod/cpu.max': 'max 100000\n',
    'pod/memory.current': '1\n',
    'pod/memory.max': 'max\n',
  });
  for (const each of [one, two]) {
    const { cpu, memory } = await each.usages()('/pod');
    assert.deepEqual([cpu?.limit, memory?.limitBytes], [undefined, undefined], `version ${each.version}`);
  }
});

test('what came and what went over each interface, but for the loopback', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:    1500      12    1    2    0     0          0         0     2500      22    3    4    0     0       0          0
`;
  assert.deepEqual(trafficOf(text), [
    {
      name: 'eth0',
      received: { bytes: 1500, packets: 12, errors: 1, dropped: 2 },
      sent: { bytes: 2500, packets: 22, errors: 3, dropped: 4 },
    },
  ]);
  assert.deepEqual(trafficOf(''), []);
});

test('the root of version 2, which has no file for it, uses what programs and files take', async (t) => {
  const two = groups(t, {
    'cgroup.controllers': 'memory\n',
    'memory.stat': 'anon 600\nfile 350\ninactive_file 300\n',
  });
  const { memory } = await two.usages()('/');
  assert.deepEqual([memory?.usageBytes, memory?.workingSetBytes, memory?.limitBytes], [950, 650, undefined]);
});

test('of a group that ends while it is read nothing, or a part, is told, and no error', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'ended-'));
  t.after(() => rmSync(root, { recursive: true }));
  const cgroups = createLinuxCgroups(root);
  const folder = join(root, 'memory/pod');
  // Who looks whether it is there, and then reads, loses the race in one of these.
  for (let i = 0; i < 200; i++) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'memory.usage_in_bytes'), '1\n');
    writeFileSync(join(folder, 'memory.oom_control'), 'oom_kill 3\n');
    const asked = Array.from({ length: 8 }, () => cgroups.usages()('/pod'));
    rmSync(folder, { recursive: true });
    for (const { memory } of await Promise.all(asked))
      assert.ok(memory?.oomKills === undefined || memory.oomKills === 3);
  }
});
