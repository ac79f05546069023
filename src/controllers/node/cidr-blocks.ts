// Blocks of equal size out of a cluster's address range, for the pods of each node.

export interface CidrRange {
  readonly first: bigint;
  readonly bits: 32 | 128;
  readonly prefix: number;
}

function parseIPv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function parseIPv6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = (half: string | undefined): string[] =>
    half === undefined || half === '' ? [] : half.split(':');
  const [head, tail] = [groups(halves[0]), groups(halves[1])];
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array<string>(halves.length === 2 ? missing : 0).fill('0'), ...tail];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((value, group) => (value << 16n) + BigInt(`0x${group}`), 0n);
}

const sizeOf = (range: CidrRange): bigint => 1n << BigInt(range.bits - range.prefix);

/** Throws Error with upstream's message. */
export function parseCidr(text: string): CidrRange {
  const [address = '', prefixText = ''] = text.split('/');
  const bits = address.includes(':') ? 128 : 32;
  const value = bits === 128 ? parseIPv6(address) : parseIPv4(address);
  const prefix = /^[0-9]{1,3}$/.test(prefixText) ? Number(prefixText) : -1;
  if (value === undefined || prefix < 0 || prefix > bits) throw new Error(`invalid CIDR address: ${text}`);
  const size = 1n << BigInt(bits - prefix);
  return { first: value - (value % size), bits, prefix };
}

function addressText(value: bigint, bits: 32 | 128): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  const longest = /(^|:)0(:0)+(:|$)/g;
  const runs = [...groups.join(':').matchAll(longest)].sort((a, b) => b[0].length - a[0].length);
  const [run] = runs;
  const text = groups.join(':');
  return run === undefined ? text : `${text.slice(0, run.index)}::${text.slice(run.index + run[0].length)}`;
}

export const cidrText = ({ first, bits, prefix }: CidrRange): string =>
  `${addressText(first, bits)}/${prefix}`;

/**
 * The first free block at or after block number `from`, going round once; undefined when all are taken.
 * `used` may hold blocks of any size.
 */
export function freeBlock(
  cluster: CidrRange,
  prefix: number,
  used: readonly CidrRange[],
  from: number,
): { readonly block: CidrRange; readonly number: number } | undefined {
  if (prefix < cluster.prefix || prefix > cluster.bits) return undefined;
  const size = 1n << BigInt(cluster.bits - prefix);
  // More blocks than any cluster has nodes are not counted.
  const count = prefix - cluster.prefix > 24 ? 1 << 24 : 1 << (prefix - cluster.prefix);
  const taken = new Set<number>();
  const end = cluster.first + sizeOf(cluster);
  for (const range of used) {
    if (range.bits !== cluster.bits) continue;
    const last = range.first + sizeOf(range) - 1n;
    if (last < cluster.first || range.first >= end) continue;
    const low = range.first < cluster.first ? 0n : (range.first - cluster.first) / size;
    const high = (last < end ? last - cluster.first : end - 1n - cluster.first) / size;
    for (let number = low; number <= high && number < BigInt(count); number++) taken.add(Number(number));
    if (taken.size >= count) return undefined;
  }
  for (let step = 0; step < count; step++) {
    const number = (from + step) % count;
    if (!taken.has(number))
      return { block: { first: cluster.first + BigInt(number) * size, bits: cluster.bits, prefix }, number };
  }
  return undefined;
}

/** The number of a block of just this size; undefined for any other. */
export function blockNumber(cluster: CidrRange, prefix: number, block: CidrRange): number | undefined {
  const end = cluster.first + sizeOf(cluster);
  const fits = block.bits === cluster.bits && block.prefix === prefix;
  if (!fits || block.first < cluster.first || block.first >= end) return undefined;
  return Number((block.first - cluster.first) / sizeOf(block));
}

/** Block `number` itself, if it is free. */
export function freeAt(
  cluster: CidrRange,
  prefix: number,
  used: readonly CidrRange[],
  number: number,
): ReturnType<typeof freeBlock> {
  const free = freeBlock(cluster, prefix, used, number);
  return free?.number === number ? free : undefined;
}
