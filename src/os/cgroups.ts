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

export interface CpuUse {
  readonly usageNs: number;
  readonly userNs: number;
  readonly systemNs: number;
  /** Absent: it may take all there is. */
  readonly limit:
    | {
        readonly quotaUs: number;
        readonly periodUs: number;
        readonly periods: number;
        readonly throttledPeriods: number;
        readonly throttledNs: number;
      }
    | undefined;
}

export interface MemoryUse {
  readonly usageBytes: number;
  /** Without what the kernel can give back at once. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly swapBytes: number;
  readonly mappedBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly maxUsageBytes: number | undefined;
  /** How often it was refused more. */
  readonly failures: number | undefined;
  /** How often the kernel killed one of its processes for memory. */
  readonly oomKills: number | undefined;
  readonly limitBytes: number | undefined;
}

export interface DiskIo {
  /** `/dev/sda`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Of a group with its children; what no controller tells is absent. */
export interface CgroupUsage {
  readonly cpu: CpuUse | undefined;
  readonly memory: MemoryUse | undefined;
  readonly io: readonly DiskIo[];
  readonly threads: number | undefined;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** Creates `name` (`/kubepods/burstable/pod…`) with its parents and sets the limits. */
  ensure(name: string, limits: CgroupLimits): Promise<void>;
  /** Kills all that runs in it and in its children, also what is stopped; resolves when nothing is left, or when that takes too long. */
  kill(name: string): Promise<void>;
  /** Ends what still runs in it and removes it with its children. */
  remove(name: string): Promise<void>;
  /** Names of the groups below it, also of those that are left in some hierarchies only. */
  children(name: string): Promise<readonly string[]>;
  /** Reads what one group after the other has used; devices are named once. */
  usages(): (name: string) => Promise<CgroupUsage>;
  /** Processes of the group itself, as this one sees them; none when there is no such group. */
  members(name: string): Promise<readonly number[]>;
}
