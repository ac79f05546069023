// Is one entry of an image layer harmless? Paths that leave the layer, links out of it and devices are refused. Pure.

export interface LayerHeader {
  readonly name: string;
  /** tar-stream's word: file, directory, symlink, link, fifo, character-device, block-device, contiguous-file … */
  readonly type: string;
  readonly linkname?: string | null | undefined;
  readonly size: number;
}

const longestPath = 4096;
const longestName = 255;

/** Parts of a path, or why it is refused. */
function checkPath(path: string, what: string): string | undefined {
  const shown = JSON.stringify(path.slice(0, 200));
  if (path === '') return `${what} is empty`;
  if (path.includes('\0')) return `${what} ${shown} has a NUL character`;
  if (path.startsWith('/')) return `${what} ${shown} is absolute`;
  if (path.length > longestPath) return `${what} ${shown}… is longer than ${longestPath} characters`;
  for (const part of path.split('/')) {
    if (part === '..') return `${what} ${shown} leaves the layer`;
    if (Buffer.byteLength(part) > longestName)
      return `${what} ${shown} has a name of over ${longestName} bytes`;
  }
  return undefined;
}

/** How deep below the layer's root a path is; negative is above it. */
function depthAfter(start: number, target: string): number {
  let depth = start;
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    depth += part === '..' ? -1 : 1;
    if (depth < 0) return depth;
  }
  return depth;
}

const partsOf = (path: string): readonly string[] =>
  path.split('/').filter((part) => part !== '' && part !== '.');

function checkSymlink(header: LayerHeader, os: string): string | undefined {
  const target = header.linkname ?? '';
  const shown = `link ${JSON.stringify(header.name)} to ${JSON.stringify(target.slice(0, 200))}`;
  if (target === '' || target.includes('\0')) return `${shown} has no valid target`;
  // A Linux image's absolute link is resolved inside the container. A Windows one would name Wine's own Linux files.
  if (target.startsWith('/')) return os === 'windows' ? `${shown} is absolute` : undefined;
  const parent = partsOf(header.name).length - 1;
  return depthAfter(parent, target) < 0 ? `${shown} leaves the layer` : undefined;
}

const whiteout = '.wh.';
const windowsRoots = new Set(['Files', 'Hives', 'UtilityVM', 'tombstones.txt', 'bcd.bak', 'bcd.log.bak']);

/** Why the entry is refused; undefined when it is fine. */
export function checkLayerEntry(header: LayerHeader, os: string): string | undefined {
  const wrong = checkPath(header.name, 'path');
  if (wrong !== undefined) return wrong;
  const parts = partsOf(header.name);
  const name = parts.at(-1) ?? '';
  if (name.startsWith(whiteout) && ['', '.', '..'].includes(name.slice(whiteout.length))) {
    return `whiteout ${JSON.stringify(header.name)} would delete its own folder or one above it`;
  }
  const root = parts[0];
  if (os === 'windows' && root !== undefined && !windowsRoots.has(root) && !root.startsWith(whiteout)) {
    return `path ${JSON.stringify(header.name)} is not below Files/ or Hives/, as a Windows layer's must be`;
  }
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
    case 'directory':
    case 'fifo':
      return undefined;
    case 'symlink':
      return checkSymlink(header, os);
    case 'link':
      return checkPath(header.linkname ?? '', `hard link ${JSON.stringify(header.name)}: its target`);
    case 'character-device':
    case 'block-device':
      return `${JSON.stringify(header.name)} is a device`;
    default:
      return `${JSON.stringify(header.name)} has the unknown type ${JSON.stringify(header.type)}`;
  }
}
