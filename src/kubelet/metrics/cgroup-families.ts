// What control groups have used as metrics, by cAdvisor's names, types and labels. Pure.
import type { Labels } from '../../component-base/metrics.ts';
import type { CpuUse, DiskIo, MemoryUse } from '../../os/cgroups.ts';
import type { InterfaceTraffic } from '../../os/stats.ts';
import type { GroupReading } from './cgroup-readings.ts';
import type { Family } from './exposition.ts';

/** One value, or several, each with labels of its own; undefined: it is not told. */
type Values = number | undefined | readonly (readonly [Labels, number | undefined])[];
type Kind = readonly [
  name: string,
  type: Family['type'],
  help: string,
  of: (reading: GroupReading) => Values,
];

const cpu =
  (of: (use: CpuUse) => number) =>
  ({ usage }: GroupReading): Values =>
    usage.cpu && of(usage.cpu) / 1e9;
const limit =
  (of: (limit: NonNullable<CpuUse['limit']>) => number) =>
  ({ usage }: GroupReading): Values =>
    usage.cpu?.limit && of(usage.cpu.limit);
const memory =
  (of: (use: MemoryUse) => number | undefined) =>
  ({ usage }: GroupReading): Values =>
    usage.memory && of(usage.memory);
const disk =
  (of: (io: DiskIo) => number) =>
  ({ usage }: GroupReading): Values =>
    usage.io.map((io) => [{ device: io.device }, of(io)]);
const network =
  (of: (traffic: InterfaceTraffic) => number) =>
  ({ traffic }: GroupReading): Values =>
    traffic.map((one) => [{ interface: one.name }, of(one)]);

/** With those of groups below, which is all that both versions tell. */
const faults = ({ usage }: GroupReading): Values => [
  [{ failure_type: 'pgfault', scope: 'hierarchy' }, usage.memory?.pageFaults],
  [{ failure_type: 'pgmajfault', scope: 'hierarchy' }, usage.memory?.majorPageFaults],
];

const cpuKinds: readonly Kind[] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed in seconds.',
    ({ usage }) => [[{ cpu: 'total' }, usage.cpu && usage.cpu.usageNs / 1e9]],
  ],
  [
    'container_cpu_user_seconds_total',
    'counter',
    'Cumulative user cpu time consumed in seconds.',
    cpu((u) => u.userNs),
  ],
  [
    'container_cpu_system_seconds_total',
    'counter',
    'Cumulative system cpu time consumed in seconds.',
    cpu((u) => u.systemNs),
  ],
  [
    'container_cpu_cfs_periods_total',
    'counter',
    'Number of elapsed enforcement period intervals.',
    limit((l) => l.periods),
  ],
  [
    'container_cpu_cfs_throttled_periods_total',
    'counter',
    'Number of throttled period intervals.',
    limit((l) => l.throttledPeriods),
  ],
  [
    'container_cpu_cfs_throttled_seconds_total',
    'counter',
    'Total time duration the container has been throttled.',
    limit((l) => l.throttledNs / 1e9),
  ],
  ['container_spec_cpu_period', 'gauge', 'CPU period of the container.', limit((l) => l.periodUs)],
  ['container_spec_cpu_quota', 'gauge', 'CPU quota of the container.', limit((l) => l.quotaUs)],
];

const memoryKinds: readonly Kind[] = [
  [
    'container_memory_usage_bytes',
    'gauge',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    memory((m) => m.usageBytes),
  ],
  [
    'container_memory_working_set_bytes',
    'gauge',
    'Current working set in bytes.',
    memory((m) => m.workingSetBytes),
  ],
  ['container_memory_rss', 'gauge', 'Size of RSS in bytes.', memory((m) => m.rssBytes)],
  ['container_memory_cache', 'gauge', 'Number of bytes of page cache memory.', memory((m) => m.cacheBytes)],
  ['container_memory_swap', 'gauge', 'Container swap usage in bytes.', memory((m) => m.swapBytes)],
  [
    'container_memory_mapped_file',
    'gauge',
    'Size of memory mapped files in bytes.',
    memory((m) => m.mappedBytes),
  ],
  [
    'container_memory_max_usage_bytes',
    'gauge',
    'Maximum memory usage recorded in bytes',
    memory((m) => m.maxUsageBytes),
  ],
  ['container_memory_failcnt', 'counter', 'Number of memory usage hits limits', memory((m) => m.failures)],
  ['container_memory_failures_total', 'counter', 'Cumulative count of memory allocation failures.', faults],
  [
    'container_oom_events_total',
    'counter',
    'Count of out of memory events observed for the container',
    memory((m) => m.oomKills),
  ],
  [
    'container_spec_memory_limit_bytes',
    'gauge',
    'Memory limit for the container.',
    // As cAdvisor, none is 0.
    memory((m) => m.limitBytes ?? 0),
  ],
];

const diskKinds: readonly Kind[] = [
  ['container_fs_reads_total', 'counter', 'Cumulative count of reads completed', disk((d) => d.reads)],
  ['container_fs_writes_total', 'counter', 'Cumulative count of writes completed', disk((d) => d.writes)],
  ['container_fs_reads_bytes_total', 'counter', 'Cumulative count of bytes read', disk((d) => d.readBytes)],
  [
    'container_fs_writes_bytes_total',
    'counter',
    'Cumulative count of bytes written',
    disk((d) => d.writtenBytes),
  ],
];

const networkKinds: readonly Kind[] = (['receive', 'transmit'] as const).flatMap((way): Kind[] => {
  const [side, did, doing] =
    way === 'receive'
      ? (['received', 'received', 'receiving'] as const)
      : (['sent', 'transmitted', 'transmitting'] as const);
  const of = (what: string): string => `container_network_${way}_${what}_total`;
  return [
    [of('bytes'), 'counter', `Cumulative count of bytes ${did}`, network((t) => t[side].bytes)],
    [of('packets'), 'counter', `Cumulative count of packets ${did}`, network((t) => t[side].packets)],
    [
      of('packets_dropped'),
      'counter',
      `Cumulative count of packets dropped while ${doing}`,
      network((t) => t[side].dropped),
    ],
    [
      of('errors'),
      'counter',
      `Cumulative count of errors encountered while ${doing}`,
      network((t) => t[side].errors),
    ],
  ];
});

const otherKinds: readonly Kind[] = [
  [
    'container_processes',
    'gauge',
    'Number of processes running inside the container.',
    ({ processes }) => processes,
  ],
  [
    'container_threads',
    'gauge',
    'Number of threads running inside the container',
    ({ usage }) => usage.threads,
  ],
  [
    'container_start_time_seconds',
    'gauge',
    'Start time of the container since unix epoch in seconds.',
    ({ startedAtMs }) => startedAtMs && Math.floor(startedAtMs / 1000),
  ],
];

const kinds = [...cpuKinds, ...memoryKinds, ...diskKinds, ...networkKinds, ...otherKinds];

export const cgroupFamilies = (readings: readonly GroupReading[], atMs: number): Family[] =>
  kinds.map(([name, type, help, of]) => ({
    name,
    help,
    type,
    rows: readings.flatMap((reading) => {
      const values = of(reading);
      const all = Array.isArray(values) ? values : [[{}, values as number | undefined] as const];
      return all.flatMap(([labels, value]) =>
        value === undefined ? [] : [{ labels: { ...reading.labels, ...labels }, value, atMs }],
      );
    }),
  }));
