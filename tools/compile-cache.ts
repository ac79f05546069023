// Where tests keep their sources as compiled: each process would spend half a second on that alone.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A file for each version of each source: some forty times all of them. */
const fileLimit = 40_000;

/** For the environment of a Node and what it starts. A folder that has become too full begins anew. */
export function compileCache(): { readonly NODE_COMPILE_CACHE: string } {
  const folder = resolve('.cache/compiled');
  for (const version of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, version);
    if (readdirSync(path).length > fileLimit) rmSync(path, { recursive: true, force: true });
  }
  return { NODE_COMPILE_CACHE: folder };
}
