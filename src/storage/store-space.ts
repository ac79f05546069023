// How much the objects of a store may take together. As etcd's quota, but of what lives: a server holds it in memory.
import type { Draft, Entry, Key, SpaceLimits, StorageSpace } from './storage.ts';
import { StorageError } from './storage-error.ts';

/** What an object takes beside its bytes: buffer, places in the maps, index record: 600 bytes measured with two labels. */
const objectOverhead = 1024;
/** Beyond the limit: for objects that are being deleted, and as much again for the system. */
const reserveBytes = 16 << 20;
/** What the status of a pod that ends, or the conditions of a namespace, may add at once. */
const endingGrowth = 4096;

/** Digits of revisions don't count: an update of the same size must never grow. */
export const entrySize = ({ key, value, revision }: Entry): number =>
  objectOverhead + key.length + value.length - String(revision).length;

export class StoreSpace implements StorageSpace {
  #used = 0;
  #limits: SpaceLimits | undefined;
  /** What the last write that was refused wanted; 0: none was, or there is room for it. */
  #wanted = 0;

  get used(): number {
    return this.#used;
  }

  limit(limits: SpaceLimits): void {
    this.#limits = limits;
  }

  /** Throws StorageError NoSpace. What does not grow is always taken. */
  take(key: Key, growth: number, urgency: Draft['urgency']): void {
    const limits = this.#limits;
    if (limits !== undefined && growth > 0 && this.#used + growth > this.#boundOf(key, growth, urgency)) {
      const before = this.#wanted;
      this.#wanted = growth;
      if (before === 0) limits.onFull?.(true);
      throw this.#exceeded();
    }
    this.#used += growth;
    this.#look();
  }

  /** Whether a write may use space that is held back: what deletion takes, and what the system can't live without. */
  isUrgent(key: Key, growth: number, urgency: Draft['urgency']): boolean {
    if (urgency === 'deletion' || this.#limits?.isSystem(key) === true) return true;
    return urgency === 'ending' && growth <= endingGrowth;
  }

  /** A write that was taken did not come to be. */
  giveBack(growth: number): void {
    this.#used -= growth;
    this.#look();
  }

  #boundOf(key: Key, growth: number, urgency: Draft['urgency']): number {
    const { bytes, isSystem } = this.#limits!;
    if (urgency === 'deletion') return Number.POSITIVE_INFINITY;
    if (isSystem(key)) return bytes + 2 * reserveBytes;
    return urgency === 'ending' && growth <= endingGrowth ? bytes + reserveBytes : bytes;
  }

  #look(): void {
    if (this.#wanted === 0 || this.#used + this.#wanted > this.#limits!.bytes) return;
    this.#wanted = 0;
    this.#limits!.onFull?.(false);
  }

  #exceeded(): StorageError {
    return new StorageError(
      'NoSpace',
      `the store is full: its objects take ${this.#used} of ${this.#limits!.bytes} bytes; delete some, or allow more`,
    );
  }

  check(): void {
    if (this.#wanted > 0) throw this.#exceeded();
  }
}
