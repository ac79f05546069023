// Blocks of equal size out of a cluster's address range, for the pods of each node.
import {
  type Cidr,
  cidrOf,
  cidrsOverlap,
  firstOf,
  formatCidr,
  ipAt,
  isWithin,
  parseCidr,
  sizeOfCidr,
} from '../../base/ip.ts';

/** Throws Error with upstream's message. */
export function parseRange(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`invalid CIDR address: ${text}`);
  return cidr;
}

/** More blocks than any cluster has nodes are not counted. */
const mostBlocks = 24;

interface FreeBlock {
  readonly block: Cidr;
  readonly number: number;
}

/** What is left of a cluster's range. To ask costs the same with ten nodes and with ten thousand. */
export class BlockPool {
  readonly #cluster: Cidr;
  readonly #prefix: number;
  readonly #size: bigint;
  readonly #count: number;
  /** How many have each block: by mistake it may be two. */
  readonly #holders = new Map<number, number>();
  /** Of other sizes, which somebody wrote by hand. */
  readonly #others: Cidr[] = [];

  constructor(cluster: Cidr, prefix: number) {
    this.#cluster = cluster;
    this.#prefix = prefix;
    const isPart = prefix >= cluster.bits && prefix <= (cluster.family === 4 ? 32 : 128);
    this.#size = isPart ? sizeOfCidr(cidrOf(firstOf(cluster), prefix)) : 0n;
    this.#count = isPart ? 2 ** Math.min(prefix - cluster.bits, mostBlocks) : 0;
  }

  take(range: Cidr): void {
    const number = this.numberOf(range);
    if (number === undefined && cidrsOverlap(range, this.#cluster)) this.#others.push(range);
    if (number === undefined) return;
    this.#holders.set(number, (this.#holders.get(number) ?? 0) + 1);
  }

  giveBack(range: Cidr): void {
    const number = this.numberOf(range);
    if (number === undefined) {
      const at = this.#others.findIndex((other) => formatCidr(other) === formatCidr(range));
      if (at >= 0) this.#others.splice(at, 1);
      return;
    }
    const left = (this.#holders.get(number) ?? 0) - 1;
    if (left > 0) this.#holders.set(number, left);
    else this.#holders.delete(number);
  }

  /** undefined for what is not one of the blocks. */
  numberOf(range: Cidr): number | undefined {
    if (range.bits !== this.#prefix || !isWithin(range, this.#cluster)) return undefined;
    return Number((range.first - this.#cluster.first) / this.#size);
  }

  /** The first free block at or after block number `from`, going round once; undefined when all are taken. */
  free(from: number): FreeBlock | undefined {
    if (this.#holders.size >= this.#count) return undefined;
    for (let step = 0; step < this.#count; step++) {
      const found = this.freeAt((from + step) % this.#count);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Block `number` itself, if it is free. */
  freeAt(number: number): FreeBlock | undefined {
    if (this.#holders.has(number)) return undefined;
    const block = cidrOf(ipAt(this.#cluster, BigInt(number) * this.#size)!, this.#prefix);
    return this.#others.some((other) => cidrsOverlap(block, other)) ? undefined : { block, number };
  }
}
