// A server's data directory as a whole: what belongs to it, and whether all of it is there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Random } from '../../base/random.ts';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { readNamed } from '../../component-base/read-named.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { storeFiles } from '../../storage/sqlite/examine.ts';
import { type OwnerLock, takeOwnerLock } from '../../storage/sqlite/owner-lock.ts';
import { StorageError } from '../../storage/storage-error.ts';
import { clusterFiles, isClusterFolder } from './cluster-folder.ts';
import { endExchange } from './replace-data.ts';

export interface DataPaths {
  readonly store: string;
  readonly pki: string;
  /** Written once a start has made everything: what it names must be there from then on. */
  readonly contents: string;
  readonly adminKubeconfig: string;
  /** Who has it locked owns the folder. */
  readonly lock: string;
  /** Who its server is. */
  readonly identity: string;
}

export const dataPaths = (dataDir: string): DataPaths => ({
  store: join(dataDir, 'db'),
  pki: join(dataDir, 'pki'),
  contents: join(dataDir, 'contents.json'),
  adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
  lock: join(dataDir, 'lock'),
  identity: join(dataDir, 'identity'),
});

/** What a restore or a repair puts something else in the place of. */
const exchangeable: readonly string[] = ['db', 'pki'];

/** What was issued by these can be issued again; these can't. */
const irreplaceable = /(^|[/-])ca\.(crt|key)$|(^|\/)sa\.key$/;

/** The last file of the PKI that a first start makes, after the store. */
const madeByStart = 'apiserver.crt';

interface Contents {
  readonly pki: readonly string[];
  /** Of each of them, in hex. */
  readonly sha256: Readonly<Record<string, string>>;
}

/** Relative names of all files below a folder. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.new'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Of the cluster that `up` made, whose server's folder it is. */
function clusterOfFolder(dataDir: string): string | undefined {
  const root = dirname(resolve(dataDir));
  return isClusterFolder(root) ? basename(root) : undefined;
}

/** The flags by which commands are told of this folder. */
function dataFlagsOf(dataDir: string): string {
  const cluster = clusterOfFolder(dataDir);
  return cluster === undefined ? `--data-dir ${dataDir}` : `--name ${cluster}`;
}

/** As an error carries it to whoever prints it: what to do about a store that is refused. */
export function withRecovery(error: unknown, dataDir: string): unknown {
  if (!(error instanceof StorageError) || !['Corrupt', 'Lost'].includes(error.code)) return error;
  const flags = dataFlagsOf(dataDir);
  return Object.assign(error, { next: `porthole restore ${flags} FILE, or porthole repair ${flags}` });
}

/** A cluster that had its keys already has none: its folder was removed, or is not mounted. */
function lostWhole(paths: DataPaths, dataDir: string): boolean {
  const issued = existsSync(join(dirname(resolve(dataDir)), clusterFiles.credentials));
  return issued && clusterOfFolder(dataDir) !== undefined && filesBelow(paths.pki).length === 0;
}

/**
 * Throws Error with the next step when something that a cluster can't do without was here and is gone. Answers with the
 * files of keys that are others than at the last start.
 */
export function checkDataDirectory(dataDir: string): string[] {
  const paths = dataPaths(dataDir);
  // An empty folder is what is left where a disk is not mounted.
  const hasStore = [storeFiles.marker, storeFiles.database, storeFiles.journal].some((file) =>
    existsSync(join(paths.store, file)),
  );
  const missing = hasStore ? [] : ['db'];
  const contents = readContents(paths.contents);
  if (contents === undefined) {
    // Keys may be there before a first start; what a start makes of them may not.
    const isLost = lostWhole(paths, dataDir);
    if (hasStore || (!isLost && !existsSync(join(paths.pki, madeByStart)))) return [];
    if (isLost) missing.splice(0, Number.POSITIVE_INFINITY, 'everything');
    else missing.push('contents.json');
  }
  const names = (contents?.pki ?? []).filter((name) => irreplaceable.test(name));
  for (const name of names) if (!existsSync(join(paths.pki, name))) missing.push(`pki/${name}`);
  if (missing.length > 0)
    throw new Error(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing from ${dataDir}, which was in use: bring it back (porthole restore ${dataFlagsOf(dataDir)} FILE), or begin anew ${howToBeginAnew(dataDir)}`,
    );
  const digests = digestsOf(paths.pki, names);
  return names.filter((name) => (contents?.sha256[name] ?? digests[name]) !== digests[name]);
}

function howToBeginAnew(dataDir: string): string {
  const cluster = clusterOfFolder(dataDir);
  return cluster === undefined
    ? 'with an empty folder'
    : `(porthole down --name ${cluster}, then porthole up --name ${cluster})`;
}

const digestsOf = (pki: string, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, sha256Hex(readNamed(join(pki, name)))]));

/** Undefined: there is none. */
function readContents(path: string): Contents | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const contents = JSON.parse(readFileSync(path, 'utf8')) as Partial<Contents> | null;
    if (!Array.isArray(contents?.pki)) throw new Error('it does not list the keys');
    return { pki: contents.pki, sha256: contents.sha256 ?? {} };
  } catch (cause) {
    throw new Error(`${path} cannot be read: remove it when the folder beside it is whole`, { cause });
  }
}

/**
 * The same at each start: whoever owns the folder is the only one of this name, so what an earlier process of it held (the
 * Lease of who leads) is its own.
 */
export function serverIdentity(dataDir: string, random: Random): string {
  const { identity } = dataPaths(dataDir);
  const known = existsSync(identity) ? readFileSync(identity, 'utf8').trim() : '';
  if (known !== '') return known;
  const made = `${hostname()}_${random.uuid()}`;
  writeDurably(identity, `${made}\n`);
  return made;
}

/** To be called when a start has made what was missing. */
export function recordContents(dataDir: string): void {
  const { contents, pki } = dataPaths(dataDir);
  const names = filesBelow(pki).filter((name) => irreplaceable.test(name));
  const found: Contents = { pki: names, sha256: digestsOf(pki, names) };
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
export function howToStop(dataDir: string): string {
  const cluster = clusterOfFolder(dataDir);
  return cluster === undefined
    ? 'end that server first'
    : `it is a cluster's that porthole up made; with --name ${cluster} instead of --data-dir its server is stopped meanwhile, and started again`;
}

/** Who names a cluster says which store is to go; a folder needs --force. */
export function howToRestoreOver(dataDir: string): string {
  const cluster = clusterOfFolder(dataDir);
  return cluster === undefined ? '--force' : `porthole restore --name ${cluster} FILE`;
}
