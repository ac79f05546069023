// Reads a file; an error names it, also where the system's own does not: that of a folder in the place of a file.
import { readFileSync } from 'node:fs';

export function readNamed(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error;
    const next = `move ${path} away, and put the file back from a backup`;
    throw Object.assign(new Error(`${path} is a folder`, { cause: error }), { code: 'EISDIR', path, next });
  }
}
