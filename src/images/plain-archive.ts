// An image archive written anew from what was checked: whoever reads it can read it in one way only.
import { createReadStream, createWriteStream } from 'node:fs';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';
import { plainName } from './archive-names.ts';

export interface Rewriting {
  /** Written in place of, or beside, the archive's own files. */
  readonly documents?: ReadonlyMap<string, string>;
  /** Of the archive's other files. Default all. */
  readonly keeps?: (name: string) => boolean;
}

/** Where a link of an archive leads, as containerd reads it: from the link's own folder. */
export const linkTarget = (name: string, linkname: string): string =>
  posix.join(posix.dirname(name), linkname);

/** Files keep their names and bytes; links to files of the archive stay; modes, owners, times and the rest go. */
export async function rewriteArchive(file: string, out: string, rewriting: Rewriting = {}): Promise<void> {
  const { documents = new Map<string, string>(), keeps = () => true } = rewriting;
  const tar = pack();
  const written = pipeline(tar, createWriteStream(out, { mode: 0o600 }));
  for (const [name, text] of documents) tar.entry({ name }, text);
  const copied = (async () => {
    for await (const entry of createReadStream(file).pipe(extract())) {
      const { type, size = 0, linkname } = entry.header;
      const name = plainName(entry.header.name, type);
      const wanted = !documents.has(name) && keeps(name);
      if (wanted && type === 'file') {
        await pipeline(entry, tar.entry({ name, size }));
        continue;
      }
      if (wanted && type === 'symlink') tar.entry({ name, type, linkname: linkname ?? '' });
      entry.resume();
    }
    tar.finalize();
  })();
  await Promise.all([written, copied]);
}
