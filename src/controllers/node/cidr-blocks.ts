// Blocks of equal size out of a cluster's address range, for the pods of each node.
import {
  type Cidr,
  cidrOf,
  cidrsOverlap,
  firstOf,
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

/**
 * The first free block at or after block number `from`, going round once; undefined when all are taken.
 * `used` may hold blocks of any size.
 */
export function freeBlock(
  cluster: Cidr,
  prefix: number,
  used: readonly Cidr[],
  from: number,
): { readonly block: Cidr; readonly number: number } | undefined {
  if (prefix < cluster.bits || prefix > (cluster.family === 4 ? 32 : 128)) return undefined;
  const size = sizeOfCidr(cidrOf(firstOf(cluster), prefix));
  const count = 1 << Math.min(prefix - cluster.bits, mostBlocks);
  const taken = new Set<number>();
  const numberOf = (value: bigint): bigint => (value - cluster.first) / size;
  for (const range of used) {
    if (!cidrsOverlap(range, cluster)) continue;
    const low = range.first < cluster.first ? 0n : numberOf(range.first);
    const high = numberOf(range.last < cluster.last ? range.last : cluster.last);
    for (let number = low; number <= high && number < count; number++) taken.add(Number(number));
    if (taken.size >= count) return undefined;
  }
  for (let step = 0; step < count; step++) {
    const number = (from + step) % count;
    if (taken.has(number)) continue;
    return { block: cidrOf(ipAt(cluster, BigInt(number) * size)!, prefix), number };
  }
  return undefined;
}

/** The number of a block of just this size; undefined for any other. */
export function blockNumber(cluster: Cidr, prefix: number, block: Cidr): number | undefined {
  if (block.bits !== prefix || !isWithin(block, cluster)) return undefined;
  return Number((block.first - cluster.first) / sizeOfCidr(block));
}

/** Block `number` itself, if it is free. */
export function freeAt(
  cluster: Cidr,
  prefix: number,
  used: readonly Cidr[],
  number: number,
): ReturnType<typeof freeBlock> {
  const free = freeBlock(cluster, prefix, used, number);
  return free?.number === number ? free : undefined;
}
