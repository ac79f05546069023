// Control groups, as a port: parents of pods and their limits. Absent on Windows.

export interface CgroupLimits {
  /** As cgroup v1: 2..262144; mapped to a weight on v2. */
  readonly cpuShares?: number | undefined;
  /** Microseconds of CPU in each period; -1 is no limit. */
  readonly cpuQuotaUs?: number | undefined;
  readonly cpuPeriodUs?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  readonly pidsLimit?: number | undefined;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** Creates `name` (`/kubepods/burstable/pod…`) with its parents and sets the limits. */
  ensure(name: string, limits: CgroupLimits): Promise<void>;
  /** Kills all that runs in it and in its children, also what is stopped; resolves when nothing is left, or when that takes too long. */
  kill(name: string): Promise<void>;
  /** Ends what still runs in it and removes it with its children. */
  remove(name: string): Promise<void>;
  children(name: string): Promise<readonly string[]>;
  /** How often the kernel killed a process of the group for memory; undefined where it can't be told. */
  oomKills(name: string): Promise<number | undefined>;
}
