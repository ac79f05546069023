// The PKI's folder on disk: each file replaced whole, readable by its owner only.
import { dirname, join } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { readNamed } from '../../component-base/read-named.ts';
import type { PkiFiles } from '../../controlplane/pki.ts';

export function pkiFiles(directory: string): PkiFiles {
  return {
    read: (name) => {
      try {
        return readNamed(join(directory, name)).toString('utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: (name, text) => {
      const path = join(directory, name);
      makeFolderDurably(dirname(path));
      // Nothing may vouch for a key that a power cut takes away.
      writeDurably(path, text);
    },
  };
}
