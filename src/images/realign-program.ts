// Rewrites a Windows program so that its sections lie on page boundaries of the file. Pure.
//
// Wine maps such a file; one with the usual 512-byte alignment it reads into memory of its own, which costs every
// container of node.exe 72 MB. The code is not changed; the signature and the debug directory are dropped.

const page = 4096;
const sectionHeaderSize = 40;
const pe32Plus = 0x20b;

const padded = (length: number): number => Math.ceil(length / page) * page;

/** Returns the bytes unchanged when they are no 64-bit program or are aligned already. */
export function realignProgram(program: Buffer): Buffer {
  const header =
    program.length >= 64 && program.toString('latin1', 0, 2) === 'MZ' ? program.readUInt32LE(0x3c) : -1;
  if (header < 0 || program.toString('latin1', header, header + 4) !== 'PE\0\0') return program;
  const sectionCount = program.readUInt16LE(header + 6);
  const optional = header + 24;
  const sections = optional + program.readUInt16LE(header + 20);
  if (program.readUInt16LE(optional) !== pe32Plus || program.readUInt32LE(optional + 36) % page === 0)
    return program;

  const raw = (index: number): { at: number; size: number; start: number } => {
    const at = sections + index * sectionHeaderSize;
    return { at, size: program.readUInt32LE(at + 16), start: program.readUInt32LE(at + 20) };
  };
  const filled = Array.from({ length: sectionCount }, (_, index) => raw(index)).filter(
    ({ size }) => size > 0,
  );
  const headerLength = Math.min(...filled.map(({ start }) => start));
  const total = filled.reduce((sum, { size }) => sum + padded(size), padded(headerLength));
  const result = Buffer.alloc(total);
  program.copy(result, 0, 0, headerLength);
  result.writeUInt32LE(page, optional + 36);
  result.writeUInt32LE(padded(headerLength), optional + 60);
  result.writeUInt32LE(0, optional + 64); // checksum
  for (const directory of [4, 6]) {
    // security and debug: both point at offsets of the old file
    result.writeUInt32LE(0, optional + 112 + directory * 8);
    result.writeUInt32LE(0, optional + 116 + directory * 8);
  }
  let position = padded(headerLength);
  for (const { at, size, start } of filled) {
    program.copy(result, position, start, start + size);
    result.writeUInt32LE(padded(size), at + 16);
    result.writeUInt32LE(position, at + 20);
    position += padded(size);
  }
  return result;
}
