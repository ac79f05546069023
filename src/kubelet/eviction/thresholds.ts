// When a node is short of something (upstream: --eviction-hard): thresholds as text, and which of them are met. Pure.
import {
  formatQuantity,
  type Quantity,
  quantityOf,
  quantityValue,
  tryParseQuantity,
} from '../../apimachinery/quantity.ts';
import type { DiskUsage, MachineUsage } from '../../os/stats.ts';

const signals = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
] as const;
export type Signal = (typeof signals)[number];

export interface Threshold {
  readonly signal: Signal;
  /** One of the two. */
  readonly quantity?: Quantity;
  readonly fraction?: number;
}

/** What pods use up, as messages name it. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes';
export type PressureCondition = 'MemoryPressure' | 'DiskPressure';

export const resourceOf = (signal: Signal): StarvedResource =>
  signal === 'memory.available' ? 'memory' : signal.endsWith('inodesFree') ? 'inodes' : 'ephemeral-storage';
export const conditionOf = (signal: Signal): PressureCondition =>
  signal === 'memory.available' ? 'MemoryPressure' : 'DiskPressure';

/** Upstream's defaults without `imagefs.inodesFree<5%` of its Linux nodes, and with inodes on Windows: emulated nodes have them. */
export const defaultEvictionHard = (memoryFloor: string): string =>
  `imagefs.available<15%,memory.available<${memoryFloor},nodefs.available<10%,nodefs.inodesFree<5%`;

/** For a cluster on somebody's own machine, whose large disk may be nine tenths full and yet have room (ADR 29). */
export const localEvictionHard = (memoryFloor: string): string =>
  `imagefs.available<1Gi,memory.available<${memoryFloor},nodefs.available<1Gi,nodefs.inodesFree<1%`;

const isSignal = (text: string): text is Signal => (signals as readonly string[]).includes(text);

function parseThreshold(expression: string): Threshold | undefined {
  const [signal = '', value = ''] = expression.split('<');
  if (!isSignal(signal)) throw new Error(`unsupported eviction signal ${signal}`);
  if (value.endsWith('%')) {
    const percent = /^\d+(\.\d+)?%$/.test(value) ? Number(value.slice(0, -1)) : Number.NaN;
    // As upstream: 0% and 100% turn the signal off.
    if (percent === 0 || percent === 100) return undefined;
    if (!(percent > 0)) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${value}`);
    if (percent > 100) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${value}`);
    return { signal, fraction: percent / 100 };
  }
  const quantity = tryParseQuantity(value);
  if (quantity === undefined)
    throw new Error(`failed to parse quantity "${value}" for "${signal}" threshold`);
  if (quantityValue(quantity) <= 0)
    throw new Error(`eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`);
  return { signal, quantity };
}

/** `nodefs.available<10%,memory.available<100Mi`; '' is none. Throws Error with upstream's text. */
export function parseThresholds(text: string): Threshold[] {
  const parts = text.split(',').filter((part) => part !== '');
  for (const part of parts)
    if (part.split('<').length !== 2)
      throw new Error(`invalid argument "${part}": must be of the form signal<value`);
  return parts.map(parseThreshold).filter((threshold) => threshold !== undefined);
}

export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
}
export type Observations = Readonly<Partial<Record<Signal, Observation>>>;

export interface NodeMeasures {
  readonly memoryBytes: number;
  readonly usage: Pick<MachineUsage, 'memoryAvailableBytes'>;
  readonly nodefs: DiskUsage;
  readonly imagefs: DiskUsage;
}

const bytes = (value: number): Quantity => quantityOf(Math.trunc(value), 'BinarySI');
const count = (value: number): Quantity => quantityOf(value, 'DecimalSI');

/** A file system that does not count inodes (0 of them) has no such signal. */
const inodesOf = (disk: DiskUsage): Observation | undefined =>
  disk.inodes > 0 ? { available: count(disk.inodesFree), capacity: count(disk.inodes) } : undefined;
const spaceOf = (disk: DiskUsage): Observation => ({
  available: bytes(disk.availableBytes),
  capacity: bytes(disk.capacityBytes),
});

export function observe({ memoryBytes, usage, nodefs, imagefs }: NodeMeasures): Observations {
  const observed: Record<Signal, Observation | undefined> = {
    'memory.available': { available: bytes(usage.memoryAvailableBytes), capacity: bytes(memoryBytes) },
    'nodefs.available': spaceOf(nodefs),
    'nodefs.inodesFree': inodesOf(nodefs),
    'imagefs.available': spaceOf(imagefs),
    'imagefs.inodesFree': inodesOf(imagefs),
  };
  return observed as Observations;
}

const thresholdQuantity = ({ quantity, fraction }: Threshold, capacity: Quantity): Quantity =>
  quantity ?? quantityOf(Math.trunc(quantityValue(capacity) * (fraction ?? 0)), 'BinarySI');

export interface MetThreshold {
  readonly signal: Signal;
  readonly quantity: Quantity;
  readonly available: Quantity;
}

/** What must become free. */
export const shortageOf = ({ quantity, available }: MetThreshold): number =>
  quantityValue(quantity) - quantityValue(available);

/** In the order in which they are answered: memory first, as upstream. */
export function metThresholds(thresholds: readonly Threshold[], observations: Observations): MetThreshold[] {
  return thresholds
    .flatMap((threshold) => {
      const seen = observations[threshold.signal];
      if (seen === undefined) return [];
      const quantity = thresholdQuantity(threshold, seen.capacity);
      return seen.available.nano < quantity.nano
        ? [{ signal: threshold.signal, quantity, available: seen.available }]
        : [];
    })
    .sort((a, b) => Number(resourceOf(b.signal) === 'memory') - Number(resourceOf(a.signal) === 'memory'));
}

/** What pods may not count on, of a node's memory or disk. */
export function withheldBytes(
  thresholds: readonly Threshold[],
  signal: Signal,
  capacityBytes: number,
): number {
  const threshold = thresholds.find((each) => each.signal === signal);
  return threshold === undefined ? 0 : quantityValue(thresholdQuantity(threshold, bytes(capacityBytes)));
}
