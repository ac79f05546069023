// What a container's root file system consists of, and where names of C: are found in it whatever their letter case. Pure.

/** Reads folders; what is not a folder has no names. A link is no folder: a layer's link would be followed on the host. */
export interface FolderReader {
  isFolder(path: string): boolean;
  names(path: string): readonly string[];
}

export interface SnapshotMount {
  /** Folders of the image's layers, uppermost first. */
  readonly layers: readonly string[];
  /** Where the container's own changes go. */
  readonly upper: string;
}

const unescapeMount = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** The overlay that is mounted at `target`, from the text of /proc/self/mountinfo; undefined when it is none of absolute paths. */
export function findSnapshot(mountInfo: string, target: string): SnapshotMount | undefined {
  for (const line of mountInfo.split('\n').reverse()) {
    const [before = '', after = ''] = line.split(' - ');
    if (unescapeMount(before.split(' ')[4] ?? '') !== target) continue;
    const [type, , options = ''] = after.split(' ');
    if (type !== 'overlay') return undefined;
    const option = (name: string): string | undefined =>
      unescapeMount(options)
        .split(',')
        .find((entry) => entry.startsWith(`${name}=`))
        ?.slice(name.length + 1);
    const layers = option('lowerdir')?.split(':') ?? [];
    const upper = option('upperdir');
    if (upper === undefined || ![...layers, upper].every((path) => path.startsWith('/'))) return undefined;
    return { layers, upper };
  }
  return undefined;
}

const lower = (text: string): string => text.toLowerCase();

/** The name in `folder` that Windows takes for `name`. */
function nameIn(reader: FolderReader, folder: string, name: string): string | undefined {
  const names = reader.names(folder);
  return names.includes(name) ? name : names.find((other) => lower(other) === lower(name));
}

/** The folder `parts` below `root`, each part found whatever its letter case; undefined when one is missing or a link. */
export function findFolder(reader: FolderReader, root: string, parts: readonly string[]): string | undefined {
  let folder = root;
  for (const part of parts) {
    const name = nameIn(reader, folder, part);
    if (name === undefined) return undefined;
    folder = `${folder}/${name}`;
    if (!reader.isFolder(folder)) return undefined;
  }
  return folder;
}

/** Wine itself makes these names at each start, in lower case. */
const fixedNames: readonly (readonly string[])[] = [
  ['windows'],
  ['windows', 'system32'],
  ['windows', 'syswow64'],
];

/** The parts of a path as they are spelled in the folders that C: is made of; unknown ones stay as written. */
export function spellAsOnDisk(
  reader: FolderReader,
  roots: readonly string[],
  parts: readonly string[],
): readonly string[] {
  const spelled: string[] = [];
  for (const [index, part] of parts.entries()) {
    const fixed = fixedNames.find(
      (names) => names.length === index + 1 && names.every((name, i) => name === lower(parts[i] ?? '')),
    );
    const found = roots
      .map((root) => findFolder(reader, root, spelled))
      .map((folder) => (folder === undefined ? undefined : nameIn(reader, folder, part)))
      .filter((name) => name !== undefined);
    spelled.push(fixed?.at(-1) ?? (found.includes(part) ? part : (found[0] ?? part)));
  }
  return spelled;
}

/** A layer that brings a Windows of its own: Wine's takes its place, whose DLLs would not work with these. */
export function isWindowsBaseLayer(reader: FolderReader, layer: string): boolean {
  const system = findFolder(reader, layer, ['Files', 'Windows', 'System32']);
  return system !== undefined && nameIn(reader, system, 'kernel32.dll') !== undefined;
}
