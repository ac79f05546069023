// What is told of control groups and of what pods use, as Prometheus reads it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../component-base/logger.ts';
import type { CgroupUsage } from '../../os/cgroups.ts';
import { aPod, exited, observedContainer, observedPod } from '../testing/observed-builder.ts';
import { cgroupFamilies } from './cgroup-families.ts';
import { readGroups } from './cgroup-readings.ts';
import { exposition } from './exposition.ts';
import { resourceFamilies } from './resource-families.ts';

const group = '/node/kubepods/besteffort/poduid-1';
const usage: CgroupUsage = {
  cpu: { usageNs: 1_500_000_000, userNs: 1e9, systemNs: 5e8, limit: undefined },
  memory: undefined,
  io: [{ device: '/dev/sda', readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 }],
  threads: 5,
};
const nothing: CgroupUsage = { cpu: undefined, memory: undefined, io: [], threads: undefined };

test('a pod, its sandbox and what runs in it are read; the network is the one of its sandbox; what can not be read takes nothing with it', async () => {
  const asked: number[] = [];
  const traffic = { bytes: 7, packets: 1, errors: 0, dropped: 0 };
  const observed = observedPod([
    observedContainer('main', { startedAtMs: 4500 }),
    observedContainer('gone', { id: 'gone' }),
    observedContainer('broken', { id: 'broken' }),
    exited('init', 0),
  ]);
  const { all: readings, failed } = await readGroups({
    cgroups: {
      usages: () => async (name) => {
        if (name.endsWith('/broken')) throw new Error('EIO: i/o error, read');
        return name.endsWith('/gone') || name === '/' ? nothing : usage;
      },
      members: async (name) => (name.endsWith('/s1') ? [17, 18] : name.endsWith('/main-id') ? [19] : []),
    },
    cgroupRoot: '/node',
    stats: {
      traffic: async (pid) => {
        asked.push(pid);
        return [{ name: 'eth0', received: traffic, sent: { ...traffic, bytes: 8 } }];
      },
    },
    log: silentLogger,
    workers: [{ pod: aPod(), observed }],
  });
  assert.ok(failed);
  assert.deepEqual(
    readings.map(({ labels }) => [labels.id, labels.container, labels.name]),
    [
      ['/node/kubepods', '', ''],
      [group, '', ''],
      [`${group}/s1`, '', 's1'],
      [`${group}/main-id`, 'main', 'main-id'],
    ],
  );
  assert.deepEqual(asked, [17]);
  const lines = exposition(cgroupFamilies(readings, 9000)).split('\n');
  const rest = (id: string, image: string): string => `id="${group}/${id}",image="${image}"`;
  const main = rest('main-id', 'example.com/x:1');
  const of = (name: string): string => `name="${name}",namespace="ns",pod="p"`;
  for (const line of [
    '# TYPE container_cpu_usage_seconds_total counter',
    `container_cpu_usage_seconds_total{container="main",cpu="total",${main},${of('main-id')}} 1.5 9000`,
    `container_fs_writes_bytes_total{container="main",device="/dev/sda",${main},${of('main-id')}} 2 9000`,
    `container_start_time_seconds{container="main",${main},${of('main-id')}} 4 9000`,
    `container_processes{container="",${rest('s1', '')},${of('s1')}} 2 9000`,
    `container_network_receive_bytes_total{container="",${rest('s1', '')},interface="eth0",${of('s1')}} 7 9000`,
    `container_network_transmit_bytes_total{container="",${rest('s1', '')},interface="eth0",${of('s1')}} 8 9000`,
  ])
    assert.ok(lines.includes(line), `${line} in\n${lines.join('\n')}`);
  const names = new Set(lines.map((line) => line.split('{')[0]));
  for (const untold of [
    'container_memory_rss',
    'container_cpu_cfs_periods_total',
    'container_oom_events_total',
  ])
    assert.ok(!names.has(untold), `${untold} is not known`);
});

test('what the runtime could not tell is said; labels are quoted', () => {
  const use = {
    pod: 'p',
    namespace: 'n',
    uid: 'u',
    container: 'a"\\\n',
    createdAtMs: 4500,
    timeMs: 0,
    cpuNs: 2e9,
    workingSetBytes: 5,
  };
  const input = {
    uses: [use],
    node: { cpuUsageNs: 3e9, memoryWorkingSetBytes: 6 },
    nowMs: 9000,
  };
  const labels = 'container="a\\"\\\\\\n",namespace="n",pod="p"';
  const told = exposition(resourceFamilies({ ...input, failed: false })).split('\n');
  for (const line of [
    `container_cpu_usage_seconds_total{${labels}} 2 9000`,
    `container_start_time_seconds{${labels}} 4.5 9000`,
    'pod_memory_working_set_bytes{namespace="n",pod="p"} 5 9000',
    'node_cpu_usage_seconds_total 3 9000',
    'resource_scrape_error 0 9000',
  ])
    assert.ok(told.includes(line), `${line} in\n${told.join('\n')}`);
  const failed = exposition(resourceFamilies({ ...input, uses: [], failed: true }));
  assert.match(failed, /^resource_scrape_error 1 9000$/m);
  assert.doesNotMatch(failed, /container_cpu/);
});
