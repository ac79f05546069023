// What a control group has used, from the files of its controllers, version 1 and 2. A controller that is not there tells nothing.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupUsage, CpuUse, DiskIo, MemoryUse } from '../cgroups.ts';
import { whileThere } from './while-there.ts';

const textOf = (path: string): Promise<string | undefined> => whileThere(readFile(path, 'utf8'));

/** A file of one number; `max` is none. */
async function numberOf(path: string): Promise<number | undefined> {
  const text = (await textOf(path))?.trim();
  return text === undefined || !/^-?\d+$/.test(text) ? undefined : Number(text);
}

/** A file of lines `name number`. */
async function numbersOf(path: string): Promise<ReadonlyMap<string, number> | undefined> {
  const text = await textOf(path);
  return text === undefined
    ? undefined
    : new Map(Array.from(text.matchAll(/^(\S+) (\d+)$/gm), ([, name, value]) => [name!, Number(value)]));
}

/** Where `cpu`, `memory` … of a group are told; on v2 all of them are told in one folder. */
export type ControllerDir = (controller: string) => string;

/** What the kernel tells programs in ticks is in 1/100 s (USER_HZ), whatever its own tick is. */
const nsOfTick = 10_000_000;

async function cpuV1(dir: ControllerDir): Promise<CpuUse | undefined> {
  const [usageNs, times, periods, quotaUs, periodUs] = await Promise.all([
    numberOf(join(dir('cpuacct'), 'cpuacct.usage')),
    numbersOf(join(dir('cpuacct'), 'cpuacct.stat')),
    numbersOf(join(dir('cpu'), 'cpu.stat')),
    numberOf(join(dir('cpu'), 'cpu.cfs_quota_us')),
    numberOf(join(dir('cpu'), 'cpu.cfs_period_us')),
  ]);
  if (usageNs === undefined) return undefined;
  const isLimited = quotaUs !== undefined && quotaUs > 0;
  return {
    usageNs,
    userNs: (times?.get('user') ?? 0) * nsOfTick,
    systemNs: (times?.get('system') ?? 0) * nsOfTick,
    limit: isLimited
      ? {
          quotaUs,
          periodUs: periodUs ?? 0,
          periods: periods?.get('nr_periods') ?? 0,
          throttledPeriods: periods?.get('nr_throttled') ?? 0,
          throttledNs: periods?.get('throttled_time') ?? 0,
        }
      : undefined,
  };
}

async function cpuV2(dir: ControllerDir): Promise<CpuUse | undefined> {
  const [stat, max] = await Promise.all([
    numbersOf(join(dir('cpu'), 'cpu.stat')),
    textOf(join(dir('cpu'), 'cpu.max')),
  ]);
  const usageUs = stat?.get('usage_usec');
  if (stat === undefined || usageUs === undefined) return undefined;
  const us = (name: string): number => (stat.get(name) ?? 0) * 1000;
  const [quota, period] = (max ?? 'max').trim().split(' ').map(Number);
  return {
    usageNs: usageUs * 1000,
    userNs: us('user_usec'),
    systemNs: us('system_usec'),
    limit: Number.isNaN(quota)
      ? undefined
      : {
          quotaUs: quota!,
          periodUs: period ?? 0,
          periods: stat.get('nr_periods') ?? 0,
          throttledPeriods: stat.get('nr_throttled') ?? 0,
          throttledNs: us('throttled_usec'),
        },
  };
}

/** A limit that no machine has is none: v1 says so with the largest number of pages. */
const unlimitedBytes = 2 ** 62;
const limitOf = (bytes: number | undefined): number | undefined =>
  bytes === undefined || bytes >= unlimitedBytes ? undefined : bytes;

async function memoryV1(dir: ControllerDir): Promise<MemoryUse | undefined> {
  const at = (file: string): string => join(dir('memory'), `memory.${file}`);
  const [usageBytes, stat, maxUsageBytes, failures, limit, oom] = await Promise.all([
    numberOf(at('usage_in_bytes')),
    numbersOf(at('stat')),
    numberOf(at('max_usage_in_bytes')),
    numberOf(at('failcnt')),
    numberOf(at('limit_in_bytes')),
    numbersOf(at('oom_control')),
  ]);
  if (usageBytes === undefined) return undefined;
  const of = (name: string): number => stat?.get(`total_${name}`) ?? 0;
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - of('inactive_file')),
    rssBytes: of('rss'),
    cacheBytes: of('cache'),
    swapBytes: of('swap'),
    mappedBytes: of('mapped_file'),
    pageFaults: of('pgfault'),
    majorPageFaults: of('pgmajfault'),
    maxUsageBytes,
    failures,
    oomKills: oom?.get('oom_kill'),
    limitBytes: limitOf(limit),
  };
}

async function memoryV2(dir: ControllerDir): Promise<MemoryUse | undefined> {
  const at = (file: string): string => join(dir('memory'), `memory.${file}`);
  const [current, stat, swapBytes, maxUsageBytes, events, limit] = await Promise.all([
    numberOf(at('current')),
    numbersOf(at('stat')),
    numberOf(at('swap.current')),
    numberOf(at('peak')),
    numbersOf(at('events')),
    numberOf(at('max')),
  ]);
  const of = (name: string): number => stat?.get(name) ?? 0;
  // The root has no file for it; as cAdvisor it is then what programs and files take.
  const usageBytes = current ?? (stat && of('anon') + of('file'));
  if (usageBytes === undefined) return undefined;
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - of('inactive_file')),
    rssBytes: of('anon'),
    cacheBytes: of('file'),
    swapBytes: swapBytes ?? 0,
    mappedBytes: of('file_mapped'),
    pageFaults: of('pgfault'),
    majorPageFaults: of('pgmajfault'),
    maxUsageBytes,
    failures: events?.get('max'),
    oomKills: events?.get('oom_kill'),
    limitBytes: limit,
  };
}

/** Lines `8:0 Read 4096` of a file of v1. */
function perDevice(text: string, what: 'Read' | 'Write'): ReadonlyMap<string, number> {
  const lines = text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm);
  return new Map(
    Array.from(lines).flatMap(([, device, op, n]) => (op === what ? [[device!, Number(n)]] : [])),
  );
}

async function ioV1(dir: ControllerDir): Promise<readonly DiskIo[]> {
  const at = (file: string): string => join(dir('blkio'), `blkio.throttle.${file}_recursive`);
  const [bytes = '', times = ''] = await Promise.all([
    textOf(at('io_service_bytes')),
    textOf(at('io_serviced')),
  ]);
  const [readBytes, writtenBytes] = [perDevice(bytes, 'Read'), perDevice(bytes, 'Write')];
  const [reads, writes] = [perDevice(times, 'Read'), perDevice(times, 'Write')];
  return [...readBytes.keys()].map((device) => ({
    device,
    readBytes: readBytes.get(device) ?? 0,
    writtenBytes: writtenBytes.get(device) ?? 0,
    reads: reads.get(device) ?? 0,
    writes: writes.get(device) ?? 0,
  }));
}

async function ioV2(dir: ControllerDir): Promise<readonly DiskIo[]> {
  const text = (await textOf(join(dir('io'), 'io.stat'))) ?? '';
  return Array.from(text.matchAll(/^(\d+:\d+) (.*)$/gm), ([, device, rest]) => {
    const of = (name: string): number => Number(new RegExp(`\\b${name}=(\\d+)`).exec(rest!)?.[1] ?? 0);
    return {
      device: device!,
      readBytes: of('rbytes'),
      writtenBytes: of('wbytes'),
      reads: of('rios'),
      writes: of('wios'),
    };
  });
}

/** `8:0` -> `/dev/sda`; as it is when the kernel does not name it. */
type DeviceName = (device: string) => Promise<string>;

/** Asks once for each: a node has hundreds of groups and few devices. */
export function deviceNames(): DeviceName {
  const names = new Map<string, Promise<string>>();
  const read = async (device: string): Promise<string> => {
    const name = /^DEVNAME=(.+)$/m.exec((await textOf(`/sys/dev/block/${device}/uevent`)) ?? '')?.[1];
    return name === undefined ? device : `/dev/${name}`;
  };
  return (device) => {
    const known = names.get(device) ?? read(device);
    names.set(device, known);
    return known;
  };
}

export async function readCgroupUsage(
  version: 1 | 2,
  dir: ControllerDir,
  nameOf: DeviceName,
): Promise<CgroupUsage> {
  const [cpuOf, memoryOf, ioOf] = version === 2 ? [cpuV2, memoryV2, ioV2] : [cpuV1, memoryV1, ioV1];
  const [cpu, memory, io, threads] = await Promise.all([
    cpuOf(dir),
    memoryOf(dir),
    ioOf(dir),
    numberOf(join(dir('pids'), 'pids.current')),
  ]);
  const named = await Promise.all(io.map(async (one) => ({ ...one, device: await nameOf(one.device) })));
  return { cpu, memory, io: named, threads };
}
