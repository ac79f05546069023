// What the machine is and how much of it is used, as a port.

export interface MachineInfo {
  readonly hostname: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly bootedAtMs: number;
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

/** Since the interface came. */
export interface InterfaceTraffic {
  readonly name: string;
  readonly received: Traffic;
  readonly sent: Traffic;
}
export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

export interface HostStats {
  machine(): Promise<MachineInfo>;
  usage(): Promise<MachineUsage>;
  disk(path: string): Promise<DiskUsage>;
  /** Of the network that a process is in, without the loopback; none when it has ended. */
  traffic(pid: number): Promise<readonly InterfaceTraffic[]>;
}
