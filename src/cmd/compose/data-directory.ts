// A server's data directory as a whole: what belongs to it, and whether all of it is there.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { storeFiles } from '../../storage/sqlite/examine.ts';

export interface DataPaths {
  readonly store: string;
  readonly pki: string;
  /** Written once a start has made everything: what it names must be there from then on. */
  readonly contents: string;
  readonly adminKubeconfig: string;
}

export const dataPaths = (dataDir: string): DataPaths => ({
  store: join(dataDir, 'db'),
  pki: join(dataDir, 'pki'),
  contents: join(dataDir, 'contents.json'),
  adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
});

/** What was issued by these can be issued again; these can't. */
const irreplaceable = /(^|[/-])ca\.(crt|key)$|(^|\/)sa\.(key|pub)$/;

interface Contents {
  readonly pki: readonly string[];
}

/** Relative names of all files below a folder. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.new'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Throws Error with the next step when something that a cluster can't do without was here and is gone. */
export function checkDataDirectory(dataDir: string): void {
  const paths = dataPaths(dataDir);
  if (!existsSync(paths.contents)) return;
  const missing: string[] = [];
  // An empty folder is what is left where a disk is not mounted.
  if (
    ![storeFiles.marker, storeFiles.database, storeFiles.journal].some((file) =>
      existsSync(join(paths.store, file)),
    )
  )
    missing.push('db');
  for (const name of readContents(paths.contents).pki)
    if (!existsSync(join(paths.pki, name))) missing.push(`pki/${name}`);
  if (missing.length > 0)
    throw new Error(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing from ${dataDir}, which was in use: bring it back (porthole restore --data-dir ${dataDir} FILE), or begin anew with an empty folder`,
    );
}

function readContents(path: string): Contents {
  try {
    const contents = JSON.parse(readFileSync(path, 'utf8')) as Partial<Contents> | null;
    if (!Array.isArray(contents?.pki)) throw new Error('it does not list the keys');
    return { pki: contents.pki };
  } catch (cause) {
    throw new Error(`${path} cannot be read: remove it when the folder beside it is whole`, { cause });
  }
}

/** To be called when a start has made what was missing. */
export function recordContents(dataDir: string): void {
  const { contents, pki } = dataPaths(dataDir);
  const found: Contents = { pki: filesBelow(pki).filter((name) => irreplaceable.test(name)) };
  const text = `${JSON.stringify(found, null, 2)}\n`;
  if (existsSync(contents) && readFileSync(contents, 'utf8') === text) return;
  writePrivate(contents, text);
}

/** Whole or not at all, readable by its owner only. */
export function writePrivate(path: string, bytes: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, bytes, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
