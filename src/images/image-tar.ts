// Writes tar files of image layers: deterministic, so that the same content always has the same digest.
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';

export type LayerEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'file'; readonly path: string; readonly data: FileData; readonly mode?: number }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string }
  | { readonly kind: 'hardlink'; readonly path: string; readonly target: string };

/** Bytes, or the path of a file to copy. */
export type FileData = string | Uint8Array | { readonly file: string };

/** FILE_ATTRIBUTE_DIRECTORY and FILE_ATTRIBUTE_ARCHIVE: what a layer made on Windows carries. */
const windowsAttributes = { directory: '16', file: '32' };

const epoch = new Date(0);

async function addEntry(tar: Pack, entry: LayerEntry, windows: boolean): Promise<void> {
  const common = { name: entry.path, mtime: epoch, uid: 0, gid: 0 };
  const pax = (kind: 'directory' | 'file'): { pax?: Record<string, string> } =>
    windows ? { pax: { 'MSWINDOWS.fileattr': windowsAttributes[kind] } } : {};
  if (entry.kind === 'directory') {
    tar.entry({ ...common, ...pax('directory'), type: 'directory', mode: entry.mode ?? 0o755 });
    return;
  }
  if (entry.kind !== 'file') {
    const type = entry.kind === 'symlink' ? 'symlink' : 'link';
    tar.entry({ ...common, type, linkname: entry.target, mode: 0o777 });
    return;
  }
  const data =
    typeof entry.data === 'object' && 'file' in entry.data ? await readFile(entry.data.file) : entry.data;
  await new Promise<void>((resolve, reject) => {
    const header = { ...common, ...pax('file'), mode: entry.mode ?? 0o644 };
    tar.entry(header, typeof data === 'string' ? data : Buffer.from(data), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/** Parents first, each folder once. */
function withParents(entries: readonly LayerEntry[]): readonly LayerEntry[] {
  const known = new Set(entries.filter(({ kind }) => kind === 'directory').map(({ path }) => path));
  const all: LayerEntry[] = [];
  for (const entry of entries) {
    const parts = entry.path.split('/').slice(0, -1);
    for (let length = 1; length <= parts.length; length++) {
      const path = parts.slice(0, length).join('/');
      if (known.has(path)) continue;
      known.add(path);
      all.push({ kind: 'directory', path });
    }
    all.push(entry);
  }
  return all;
}

/** Writes a layer's tar file. `windows` adds the PAX headers of a layer made on Windows. */
export async function writeLayer(
  file: string,
  entries: readonly LayerEntry[],
  options: { readonly windows?: boolean } = {},
): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createWriteStream(file));
  const added = (async () => {
    for (const entry of withParents(entries)) await addEntry(tar, entry, options.windows ?? false);
    tar.finalize();
  })();
  await Promise.all([written, added]);
}
