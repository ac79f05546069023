// What the machine is and how much of it is used, as a port.

export interface MachineInfo {
  readonly hostname: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly maxPids: number;
  /** Whether the kernel enforces AppArmor profiles. */
  readonly appArmor: boolean;
}

export interface MachineUsage {
  readonly memoryAvailableBytes: number;
  readonly memoryWorkingSetBytes: number;
  /** CPU time of the whole machine since boot. */
  readonly cpuUsageNs: number;
  readonly pids: number;
}

export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface HostStats {
  machine(): Promise<MachineInfo>;
  usage(): Promise<MachineUsage>;
  disk(path: string): Promise<DiskUsage>;
}
