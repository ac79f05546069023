// Which functions a Windows library exports, with their ordinals, read from its bytes. Pure.

export interface PeExport {
  readonly name: string;
  readonly ordinal: number;
}

/** Empty for what is no 64-bit library or exports nothing. Throws on one that is cut short. */
export function exportsOf(library: Buffer): readonly PeExport[] {
  const header =
    library.length >= 64 && library.toString('latin1', 0, 2) === 'MZ' ? library.readUInt32LE(0x3c) : -1;
  if (header < 0 || library.toString('latin1', header, header + 4) !== 'PE\0\0') return [];
  const optional = header + 24;
  const sectionsAt = optional + library.readUInt16LE(header + 20);
  const sections = Array.from({ length: library.readUInt16LE(header + 6) }, (_, index) => {
    const at = sectionsAt + index * 40;
    return {
      address: library.readUInt32LE(at + 12),
      size: Math.max(library.readUInt32LE(at + 8), library.readUInt32LE(at + 16)),
      offset: library.readUInt32LE(at + 20),
    };
  });
  const offsetOf = (address: number): number => {
    const section = sections.find(({ address: start, size }) => start <= address && address < start + size);
    if (!section) throw new Error('an export lies outside the library');
    return section.offset + address - section.address;
  };
  const directory = library.readUInt32LE(optional + 112);
  if (directory === 0) return [];
  const at = offsetOf(directory);
  const base = library.readUInt32LE(at + 16);
  const count = library.readUInt32LE(at + 24);
  const names = offsetOf(library.readUInt32LE(at + 32));
  const indexes = offsetOf(library.readUInt32LE(at + 36));
  return Array.from({ length: count }, (_, index) => {
    const name = offsetOf(library.readUInt32LE(names + index * 4));
    return {
      name: library.toString('latin1', name, library.indexOf(0, name)),
      ordinal: base + library.readUInt16LE(indexes + index * 2),
    };
  });
}

/** A linker's definition file: `own` functions are the library's own, all others are forwarded to `target`. */
export function forwardingDefinition(
  library: string,
  target: string,
  exports: readonly PeExport[],
  own: Readonly<Record<string, string>>,
): string {
  const lines = exports.map(({ name, ordinal }) => {
    const source = Object.hasOwn(own, name) ? own[name] : `${target}.${name}`;
    return `  ${name}=${source} @${ordinal}`;
  });
  return `LIBRARY ${library}\nEXPORTS\n${lines.join('\n')}\n`;
}
