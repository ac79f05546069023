// The machine's facts and use from /proc, /etc and statfs.
import { readFile, statfs } from 'node:fs/promises';
import { availableParallelism, hostname } from 'node:os';
import type { HostStats, InterfaceTraffic, Traffic } from '../stats.ts';

const textOf = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return ''; // not every machine (a container, a VM without DMI) has every file; the field is then empty
  }
};

/** `MemTotal:  123 kB` of /proc/meminfo, in bytes. */
export function memoryField(meminfo: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo);
  return found ? Number(found[1]) * 1024 : 0;
}

const prettyName = (osRelease: string): string =>
  /^PRETTY_NAME="?([^"\n]*)"?/m.exec(osRelease)?.[1] ?? 'Linux';

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal, in 1/100 s. */
export function busyNs(procStat: string): number {
  const fields = (procStat.split('\n')[0] ?? '').split(/\s+/).slice(1, 9).map(Number);
  const idle = (fields[3] ?? 0) + (fields[4] ?? 0);
  return (fields.reduce((sum, v) => sum + v, 0) - idle) * 10_000_000;
}

/** `btime 1790000000` of /proc/stat. */
export const bootedAtMs = (procStat: string): number =>
  Number(/^btime (\d+)$/m.exec(procStat)?.[1] ?? 0) * 1000;

/** Lines of /proc/<pid>/net/dev: a name, eight numbers of what came, eight of what went. */
export function trafficOf(text: string): InterfaceTraffic[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', numbers] = line.split(':');
    if (numbers === undefined || name.trim() === 'lo') return [];
    const all = numbers.trim().split(/\s+/).map(Number);
    const from = (first: number): Traffic => {
      const [bytes = 0, packets = 0, errors = 0, dropped = 0] = all.slice(first);
      return { bytes, packets, errors, dropped };
    };
    return [{ name: name.trim(), received: from(0), sent: from(8) }];
  });
}

export const linuxHostStats: HostStats = {
  machine: async () => {
    const meminfo = await textOf('/proc/meminfo');
    return {
      hostname: hostname().toLowerCase(),
      cpuCount: availableParallelism(),
      memoryBytes: memoryField(meminfo, 'MemTotal'),
      swapBytes: memoryField(meminfo, 'SwapTotal'),
      machineId: await textOf('/etc/machine-id'),
      systemUuid: (await textOf('/sys/class/dmi/id/product_uuid')) || (await textOf('/etc/machine-id')),
      bootId: await textOf('/proc/sys/kernel/random/boot_id'),
      bootedAtMs: bootedAtMs(await textOf('/proc/stat')),
      kernelVersion: await textOf('/proc/sys/kernel/osrelease'),
      appArmor: (await textOf('/sys/module/apparmor/parameters/enabled')) === 'Y',
      osImage: prettyName(await textOf('/etc/os-release')),
      maxPids: Math.min(
        Number(await textOf('/proc/sys/kernel/pid_max')) || 32_768,
        Number(await textOf('/proc/sys/kernel/threads-max')) || Number.POSITIVE_INFINITY,
      ),
    };
  },
  usage: async () => {
    const meminfo = await textOf('/proc/meminfo');
    const available = memoryField(meminfo, 'MemAvailable');
    const loadavg = await textOf('/proc/loadavg');
    return {
      memoryAvailableBytes: available,
      memoryWorkingSetBytes: memoryField(meminfo, 'MemTotal') - available,
      cpuUsageNs: busyNs(await textOf('/proc/stat')),
      pids: Number(loadavg.split(' ')[3]?.split('/')[1] ?? 0),
    };
  },
  disk: async (path) => {
    const s = await statfs(path);
    return {
      capacityBytes: s.blocks * s.bsize,
      availableBytes: s.bavail * s.bsize,
      usedBytes: (s.blocks - s.bfree) * s.bsize,
      inodes: s.files,
      inodesFree: s.ffree,
    };
  },
  traffic: async (pid) => trafficOf(await textOf(`/proc/${pid}/net/dev`)),
};
