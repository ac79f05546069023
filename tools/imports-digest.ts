// What files say of other files, as one value: import rules that hold do so until it changes.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What decides beside the files: rules, packages and how to find them. */
const settings = [
  '.dependency-cruiser.mjs',
  'layers.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
];

/** Whether a line may name a file or package; of what it takes from there no rule knows. */
const names = /\b(?:import|from|require|getBuiltinModule)\b|\/\/\/|['"`]\.{1,2}\//;
const goesOn = /[(,:]\s*$|\b(?:import|from)\s*$/;

export function importsDigest(root: string, folders: readonly string[]): string {
  const hash = createHash('sha256');
  for (const name of settings)
    hash.update(`${name}\0`).update(existsSync(join(root, name)) ? readFileSync(join(root, name)) : '');
  for (const file of globSync(`{${folders.join(',')}}/**/*.*`, { cwd: root }).sort()) {
    hash.update(`\0${file}\0`);
    if (!/[.][cm]?[jt]sx?$/.test(file)) continue;
    let before = false;
    for (const line of readFileSync(join(root, file), 'utf8').split('\n')) {
      const named = names.test(line);
      // What is imported may stand on the line after.
      if (named || before) hash.update(`${line}\n`);
      before = named && goesOn.test(line);
    }
  }
  return hash.digest('hex');
}
