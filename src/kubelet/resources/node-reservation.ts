// What of the machine is kept from pods (kube-reserved and system-reserved), and the limits of all pods together. Pure.
import { milliValue, quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import type { CgroupLimits } from '../../os/cgroups.ts';
import type { MachineInfo } from '../../os/stats.ts';
import { cpuShares } from './qos.ts';

export interface Reservation {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  /** Undefined: half of what the machine has. */
  readonly pids: number | undefined;
}

export const nothingReserved: Reservation = { milliCpu: 0, memoryBytes: 0, pids: undefined };

/** Of one pod. Upstream has none unless it is set; here a fork bomb ends before it is felt by others. */
export const defaultPodPidsLimit = 4096;

/** `cpu=100m,memory=256Mi,pid=1000`, as upstream's --kube-reserved; throws Error for anything else. */
export function parseReservation(text: string): Reservation {
  let reserved = nothingReserved;
  for (const entry of text.split(',').filter((part) => part !== '')) {
    const [name = '', value = ''] = entry.split('=');
    const quantity = tryParseQuantity(value);
    if (!quantity || quantityValue(quantity) < 0) {
      throw new Error(`failed to parse quantity "${value}" for "${name}" resource`);
    }
    if (name === 'cpu') reserved = { ...reserved, milliCpu: milliValue(quantity) };
    else if (name === 'memory') reserved = { ...reserved, memoryBytes: quantityValue(quantity) };
    else if (name === 'pid') reserved = { ...reserved, pids: quantityValue(quantity) };
    else throw new Error(`cannot reserve "${name}" resource`);
  }
  return reserved;
}

export const sumOfReservations = (a: Reservation, b: Reservation): Reservation => ({
  milliCpu: a.milliCpu + b.milliCpu,
  memoryBytes: a.memoryBytes + b.memoryBytes,
  pids: a.pids === undefined && b.pids === undefined ? undefined : (a.pids ?? 0) + (b.pids ?? 0),
});

function left(resource: string, capacity: number, reserved: number): number {
  if (capacity > reserved) return capacity - reserved;
  throw new Error(
    `invalid Node Allocatable configuration. Resource "${resource}" has a reservation of ${reserved} but capacity of ${capacity}. Expected capacity >= reservation.`,
  );
}

/**
 * Limits of the group that holds all pods: what is reserved can't be taken from the machine by any number of them. Throws
 * Error when nothing is left.
 */
export function allPodsLimits(machine: MachineInfo, reserved: Reservation): CgroupLimits {
  const pids = reserved.pids ?? Math.floor(machine.maxPids / 2);
  return {
    cpuShares: cpuShares(left('cpu', machine.cpuCount * 1000, reserved.milliCpu)),
    memoryLimitBytes: left('memory', machine.memoryBytes, reserved.memoryBytes),
    pidsLimit: left('pid', machine.maxPids, pids),
  };
}
