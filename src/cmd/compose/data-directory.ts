// A server's data directory as a whole: what belongs to it, and whether all of it is there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { storeFiles } from '../../storage/sqlite/examine.ts';
import { type OwnerLock, takeOwnerLock } from '../../storage/sqlite/owner-lock.ts';
import { StorageError } from '../../storage/storage-error.ts';
import { endExchange } from './replace-data.ts';

export interface DataPaths {
  readonly store: string;
  readonly pki: string;
  /** Written once a start has made everything: what it names must be there from then on. */
  readonly contents: string;
  readonly adminKubeconfig: string;
  /** Who has it locked owns the folder. */
  readonly lock: string;
}

export const dataPaths = (dataDir: string): DataPaths => ({
  store: join(dataDir, 'db'),
  pki: join(dataDir, 'pki'),
  contents: join(dataDir, 'contents.json'),
  adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
  lock: join(dataDir, 'lock'),
});

/** What a restore or a repair puts something else in the place of. */
const exchangeable: readonly string[] = ['db', 'pki'];

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
  writeDurably(contents, text);
}

/** Throws StorageError: Locked when a server, or another command, has it. What a killed restore began is ended. */
export function ownDataDirectory(dataDir: string, next: string): OwnerLock {
  const { lock, store } = dataPaths(dataDir);
  makeFolderDurably(dataDir);
  const owned = takeOwnerLock(lock);
  if (owned === undefined)
    throw new StorageError('Locked', `the store in ${store} is in use by another process: ${next}`);
  try {
    endExchange(dataDir, exchangeable);
    return owned;
  } catch (error) {
    owned.release();
    throw error;
  }
}

/** What to do about a server that runs on it. */
export const howToStop = (dataDir: string): string =>
  existsSync(join(dirname(dataDir), 'cluster.json'))
    ? `it is a cluster's that porthole up made; with --name ${basename(dirname(dataDir))} instead of --data-dir its server is stopped meanwhile, and started again`
    : 'end that server first';
