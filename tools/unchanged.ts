// What a tool that looks at each file alone had nothing against, it has not to look at again: files are remembered by their content.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Unchanged {
  /** Where the memory lies. */
  readonly memory: string;
  /** What decides beside a file's own content: the tool's version, its settings. */
  readonly settings: readonly string[];
  readonly files: readonly string[];
}

/** The files to look at, and how to remember that there is nothing against any of them. */
export function changedFiles({ memory, settings, files }: Unchanged): {
  readonly changed: readonly string[];
  remember(): void;
} {
  const start = createHash('sha256');
  for (const path of settings) start.update(readFileSync(path)).update('\0');
  // What the tool itself makes of a file between now and then is not what was looked at.
  const keys = new Map(
    files.map((file) => [file, start.copy().update(`${file}\0`).update(readFileSync(file)).digest('hex')]),
  );
  const known = new Set(existsSync(memory) ? readFileSync(memory, 'utf8').split('\n') : []);
  return {
    changed: files.filter((file) => !known.has(keys.get(file)!)),
    remember: () => {
      mkdirSync(dirname(memory), { recursive: true });
      writeFileSync(memory, [...keys.values()].join('\n'));
    },
  };
}
