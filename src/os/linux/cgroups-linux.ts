// Control groups by the cgroup file system, version 1 and 2.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CgroupLimits, Cgroups } from '../cgroups.ts';
import { type ControllerDir, deviceNames, readCgroupUsage } from './cgroup-usage.ts';
import { whileThere } from './while-there.ts';

const v1Controllers = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'pids',
  'blkio',
  'devices',
  'freezer',
  'hugetlb',
];

/** 2..262144 -> 1..10000, upstream's (and runc's) conversion. */
export const weightOfShares = (shares: number): number =>
  shares === 0 ? 0 : 1 + Math.trunc(((Math.min(Math.max(shares, 2), 262144) - 2) * 9999) / 262142);

async function put(path: string, value: string | number): Promise<void> {
  await writeFile(path, String(value));
}

async function putIfThere(path: string, value: string | number): Promise<void> {
  if (existsSync(path)) await put(path, value);
}

/** A killed process stays in its group until the kernel is done with it: up to 2 s of waiting on a loaded machine. */
const removalWaitsMs = [1, 2, 5, 10, 20, 50, ...Array.from({ length: 20 }, () => 100)];

/** A process of another PID namespace is told as 0, which to `kill` is whoever asks. */
async function pidsOf(path: string): Promise<number[]> {
  const text = (await whileThere(readFile(join(path, 'cgroup.procs'), 'utf8'))) ?? '';
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}

async function pidsBelow(path: string): Promise<number[]> {
  const pids = await pidsOf(path);
  for (const entry of (await whileThere(readdir(path, { withFileTypes: true }))) ?? [])
    if (entry.isDirectory()) pids.push(...(await pidsBelow(join(path, entry.name))));
  return pids;
}

function killOnce(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as { code?: string }).code !== 'ESRCH') throw error;
    }
  }
}

/** The group with its children. What forks meanwhile is killed the next time; with cgroup.kill (Linux 5.14, v2) nobody can. */
async function killAll(path: string): Promise<void> {
  const killFile = join(path, 'cgroup.kill');
  for (const wait of removalWaitsMs) {
    const pids = await pidsBelow(path);
    if (pids.length === 0) return;
    if (existsSync(killFile)) await whileThere(put(killFile, 1));
    else killOnce(pids);
    await delay(wait);
  }
}

/** A group that still has processes says EBUSY; they are killed and the removal tried again until they are gone. */
async function removeTree(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(join(path, entry.name));
  }
  for (let attempt = 0; ; attempt++) {
    try {
      await rmdir(path);
      return;
    } catch (error) {
      const code = (error as { code?: string }).code;
      if (code === 'ENOENT') return;
      const wait = removalWaitsMs[attempt];
      if (code !== 'EBUSY' || wait === undefined) throw error;
      killOnce(await pidsOf(path));
      await delay(wait);
    }
  }
}

async function limitV1(root: string, name: string, limits: CgroupLimits): Promise<void> {
  const at = (controller: string, file: string): string => join(root, controller, name, file);
  if (limits.cpuShares !== undefined) await putIfThere(at('cpu', 'cpu.shares'), limits.cpuShares);
  if (limits.cpuPeriodUs !== undefined) await putIfThere(at('cpu', 'cpu.cfs_period_us'), limits.cpuPeriodUs);
  if (limits.cpuQuotaUs !== undefined) await putIfThere(at('cpu', 'cpu.cfs_quota_us'), limits.cpuQuotaUs);
  if (limits.memoryLimitBytes !== undefined) {
    await putIfThere(at('memory', 'memory.limit_in_bytes'), limits.memoryLimitBytes);
  }
  if (limits.pidsLimit !== undefined) await putIfThere(at('pids', 'pids.max'), limits.pidsLimit);
}

async function limitV2(path: string, limits: CgroupLimits): Promise<void> {
  if (limits.cpuShares !== undefined) {
    await putIfThere(join(path, 'cpu.weight'), weightOfShares(limits.cpuShares));
  }
  if (limits.cpuQuotaUs !== undefined) {
    const quota = limits.cpuQuotaUs < 0 ? 'max' : limits.cpuQuotaUs;
    await putIfThere(join(path, 'cpu.max'), `${quota} ${limits.cpuPeriodUs ?? 100_000}`);
  }
  if (limits.memoryLimitBytes !== undefined) {
    await putIfThere(join(path, 'memory.max'), limits.memoryLimitBytes);
  }
  if (limits.pidsLimit !== undefined) await putIfThere(join(path, 'pids.max'), limits.pidsLimit);
}

/** On v2 a controller must be handed down from each ancestor. */
async function enableV2(root: string, name: string): Promise<void> {
  const parts = name.split('/').filter((p) => p !== '');
  for (let depth = 0; depth < parts.length; depth++) {
    const parent = join(root, ...parts.slice(0, depth));
    await mkdir(join(parent, parts[depth]!), { recursive: true });
    const available = (await readFile(join(parent, 'cgroup.controllers'), 'utf8')).trim().split(' ');
    for (const controller of ['cpu', 'cpuset', 'memory', 'pids', 'io'].filter((c) => available.includes(c))) {
      try {
        await put(join(parent, 'cgroup.subtree_control'), `+${controller}`);
      } catch (error) {
        // A parent with processes of its own (a container's root) can't hand down; the limit is then not set.
        if ((error as { code?: string }).code !== 'EBUSY') throw error;
      }
    }
  }
}

/** runc refuses a child of a cpuset without cpus (v1). */
async function inheritCpuset(root: string, name: string): Promise<void> {
  const base = join(root, 'cpuset');
  if (!existsSync(base)) return;
  const parts = name.split('/').filter((p) => p !== '');
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = join(base, ...parts.slice(0, depth));
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if ((await readFile(join(path, file), 'utf8')).trim() !== '') continue;
      await put(join(path, file), (await readFile(join(dirname(path), file), 'utf8')).trim());
    }
  }
}

/** `root`: where the file system is mounted; default /sys/fs/cgroup. */
export function createLinuxCgroups(root = '/sys/fs/cgroup'): Cgroups {
  const version = existsSync(join(root, 'cgroup.controllers')) ? 2 : 1;
  const controllers = v1Controllers.filter((c) => existsSync(join(root, c, 'cgroup.procs')));
  /** On v1 a container is in every hierarchy that is mounted: one of them tells all of its processes. */
  const roots = version === 2 ? [root] : controllers.map((controller) => join(root, controller));
  const pathOf = (name: string): string | undefined =>
    roots.map((each) => join(each, name)).find((each) => existsSync(each));
  /** systemd and other named hierarchies too: runc joins containers to all that are mounted. */
  const everywhere = (name: string): string[] =>
    version === 2
      ? [join(root, name)]
      : readdirSync(root, { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map((entry) => join(root, entry.name, name));
  const dirOf =
    (name: string): ControllerDir =>
    (controller) =>
      version === 2 ? join(root, name) : join(root, controller, name);
  return {
    version,
    ensure: async (name, limits) => {
      if (version === 2) {
        await enableV2(root, name);
        await limitV2(join(root, name), limits);
        return;
      }
      for (const controller of controllers) await mkdir(join(root, controller, name), { recursive: true });
      await inheritCpuset(root, name);
      await limitV1(root, name, limits);
    },
    kill: async (name) => {
      const path = pathOf(name);
      if (path !== undefined) await killAll(path);
    },
    remove: async (name) => {
      if (name.split('/').filter((p) => p !== '').length === 0)
        throw new Error('refusing to remove the root cgroup');
      for (const path of everywhere(name)) await removeTree(path);
    },
    children: async (name) => {
      const below = everywhere(name).map((path) => whileThere(readdir(path, { withFileTypes: true })));
      const found = (await Promise.all(below)).flatMap((entries) => entries ?? []);
      return [...new Set(found.filter((entry) => entry.isDirectory()).map((entry) => entry.name))];
    },
    usages: () => {
      const nameOf = deviceNames();
      return (name) => readCgroupUsage(version, dirOf(name), nameOf);
    },
    members: async (name) => {
      const path = pathOf(name);
      return path === undefined ? [] : pidsOf(path);
    },
  };
}
