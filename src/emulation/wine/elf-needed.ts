// Which shared libraries an ELF file needs (DT_NEEDED), read from its bytes.

const elf64LittleEndian = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const loadSegment = 1;
const dynamicSegment = 2;
const needed = 1n;
const stringTable = 5n;

/** Empty for what is no 64-bit little-endian ELF file or is not dynamic. Throws on one that is cut short. */
export function neededLibraries(file: Buffer): readonly string[] {
  if (file.length < 64 || !file.subarray(0, 6).equals(elf64LittleEndian)) return [];
  const headers = Number(file.readBigUInt64LE(32));
  const headerSize = file.readUInt16LE(54);
  const segments = Array.from({ length: file.readUInt16LE(56) }, (_, i) => {
    const at = headers + i * headerSize;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: file.readBigUInt64LE(at + 16),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
  const dynamic = segments.find((segment) => segment.type === dynamicSegment);
  if (!dynamic) return [];

  const names: number[] = [];
  let strings: number | undefined;
  for (let at = dynamic.offset; at + 16 <= dynamic.offset + dynamic.size; at += 16) {
    const tag = file.readBigUInt64LE(at);
    const value = file.readBigUInt64LE(at + 8);
    if (tag === needed) names.push(Number(value));
    if (tag === stringTable) strings = fileOffset(segments, value);
    if (tag === 0n) break;
  }
  if (strings === undefined) return [];
  const table = strings;
  return names.map((name) => file.toString('latin1', table + name, file.indexOf(0, table + name)));
}

function fileOffset(
  segments: readonly { type: number; offset: number; address: bigint; size: number }[],
  address: bigint,
): number | undefined {
  const segment = segments.find(
    ({ type, address: start, size }) =>
      type === loadSegment && start <= address && address < start + BigInt(size),
  );
  return segment && segment.offset + Number(address - segment.address);
}
