// Backups of a server's data directory: taken while it runs or not, put back, and what can be saved from a damaged one.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { rfc3339 } from '../../base/clock.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { readAll } from '../../client/transport.ts';
import { httpTransport } from '../../client/transport-http.ts';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { type Backup, decodeBackup, encodeBackup } from '../../storage/backup/backup-format.ts';
import { damageOf, readStore } from '../../storage/sqlite/read-store.ts';
import { buildStore } from '../../storage/sqlite/rebuild.ts';
import { type Salvaged, salvage } from '../../storage/sqlite/salvage.ts';
import { StorageError } from '../../storage/storage-error.ts';
import { backupPath } from './backup-endpoint.ts';
import { checkBackup } from './check-backup.ts';
import {
  dataPaths,
  filesBelow,
  howToRestoreOver,
  howToStop,
  ownDataDirectory,
  recordContents,
} from './data-directory.ts';
import { type Exchange, exchange } from './replace-data.ts';

const maxBackupBytes = 2 ** 31;

/** Everything, as of one revision; `running`: it was read from the server, which went on. */
export async function takeBackup(
  dataDir: string,
  options: { readonly pki: boolean },
): Promise<{ readonly backup: Backup; readonly running: boolean }> {
  const { store, pki } = dataPaths(dataDir);
  if (!existsSync(store)) throw new Error(`there is no store in ${dataDir}`);
  const stopped = readStopped(dataDir);
  const found = stopped ?? (await askServer(dataDir));
  const names = options.pki ? filesBelow(pki) : [];
  const files = names.map((name) => ({
    name: `pki/${name}`,
    text: readFileSync(join(pki, name), 'utf8'),
  }));
  return { backup: { ...found, files }, running: stopped === undefined };
}

/** undefined: a server has it open. */
function readStopped(dataDir: string): Backup | undefined {
  try {
    const owned = ownDataDirectory(dataDir, howToStop(dataDir));
    try {
      const found = readStore(dataPaths(dataDir).store);
      return { ...found, createdAt: rfc3339(systemClock.now()), files: [] };
    } finally {
      owned.release();
    }
  } catch (error) {
    if (error instanceof StorageError && error.code === 'Locked') return undefined;
    throw error;
  }
}

async function askServer(dataDir: string): Promise<Backup> {
  const { adminKubeconfig } = dataPaths(dataDir);
  const { transport } = await loadKubeconfig(adminKubeconfig, (path) => readFile(path));
  const open = httpTransport(systemClock, transport);
  try {
    const answer = await open.request({ method: 'GET', path: backupPath, headers: {} });
    const body = await readAll(answer.body, maxBackupBytes);
    if (answer.status !== 200) throw new Error(`the server answers ${answer.status}: ${body.toString()}`);
    return decodeBackup(body);
  } finally {
    await open.close();
  }
}

/** Written whole, readable by its owner only, and read again before it counts. */
export function writeBackup(file: string, backup: Backup): { readonly bytes: number } {
  const packed = gzipSync(Buffer.concat([...encodeBackup(backup)]), { level: 3 });
  makeFolderDurably(dirname(file));
  writeDurably(file, packed);
  const again = readBackup(file);
  if (again.revision !== backup.revision || again.entries.length !== backup.entries.length)
    throw new Error(`${file} does not read back as it was written`);
  return { bytes: packed.length };
}

export function readBackup(file: string): Backup {
  let bytes: Buffer;
  try {
    bytes = gunzipSync(readFileSync(file), { maxOutputLength: maxBackupBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    throw new Error(`${file} is damaged or no backup: ${(error as Error).message}`, { cause: error });
  }
  try {
    return decodeBackup(bytes);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** Of a store that a restore puts aside; when it was is added. */
const asideName = 'db.before';

export interface Restored {
  readonly revision: number;
  readonly objects: number;
  /** Where the store, and the keys, that were there lie now. */
  readonly aside: readonly string[];
  /** Stores that were put aside before, and are gone now. */
  readonly removed: readonly string[];
  readonly pki: 'restored' | 'kept' | 'not in the backup';
}

/** As a restore asks, before anything is stopped or changed for it. */
export function checkRestore(dataDir: string, backup: Backup, overStore: boolean): void {
  checkBackup(backup);
  if (!overStore && filesBelow(dataPaths(dataDir).store).length > 0)
    throw new Error(
      `there is a store in ${dataDir}: ${howToRestoreOver(dataDir)} puts it aside and restores over it`,
    );
}

export interface RestoreOptions {
  /** A store that is there is put aside. */
  readonly overStore: boolean;
  /** So are keys that are others than those of the backup. */
  readonly overKeys: boolean;
}

/** A backup that is refused changes nothing; one that was begun to be put in place is put in place. */
export function restoreBackup(dataDir: string, backup: Backup, options: RestoreOptions): Restored {
  const owned = ownDataDirectory(dataDir, howToStop(dataDir));
  try {
    checkRestore(dataDir, backup, options.overStore);
    const { store, pki } = dataPaths(dataDir);
    const known = highestIn(store);
    const revision = buildStore(
      `${store}.new`,
      backup.entries,
      Math.max(backup.revision, known ?? 0),
      systemRandom,
    );
    const plan: Exchange[] = [{ name: 'db', aside: freeName(dataDir, asideName) }];
    const keys = keysToRestore(pki, backup, options.overKeys);
    if (keys === 'restored') {
      rmSync(`${pki}.new`, { recursive: true, force: true });
      for (const { name, text } of backup.files) {
        const file = join(`${pki}.new`, name.slice('pki/'.length));
        makeFolderDurably(dirname(file));
        writeDurably(file, text);
      }
      plan.push({ name: 'pki', aside: freeName(dataDir, 'pki.before') });
    }
    exchange(dataDir, plan);
    recordContents(dataDir);
    const aside = plan.map((one) => join(dataDir, one.aside)).filter((path) => existsSync(path));
    const removed = removeOldStores(dataDir, plan[0]!.aside);
    return { revision, objects: backup.entries.length, aside, removed, pki: keys };
  } finally {
    owned.release();
  }
}

/** A store is as large as all objects: of those that restores put aside, this one and the one before stay. Keys are small and stay. */
function removeOldStores(dataDir: string, latest: string): string[] {
  const before = readdirSync(dataDir)
    .filter((name) => name.startsWith(`${asideName}-`) && name !== latest)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const removed = before.slice(0, -1).map((name) => join(dataDir, name));
  for (const path of removed) rmSync(path, { recursive: true, force: true });
  return removed;
}

/** `db.before-2026-11-22T08-00-00Z`, or one like it that is not taken. */
function freeName(dataDir: string, begin: string): string {
  const name = `${begin}-${rfc3339(systemClock.now()).replaceAll(':', '-')}`;
  for (let i = 1; ; i++) {
    const candidate = i === 1 ? name : `${name}-${i}`;
    if (!existsSync(join(dataDir, candidate))) return candidate;
  }
}

function keysToRestore(pki: string, { files }: Backup, overKeys: boolean): Restored['pki'] {
  if (files.length === 0) return 'not in the backup';
  const here = filesBelow(pki);
  const nameOf = (name: string): string => name.slice('pki/'.length);
  if (!files.every(({ name }) => here.includes(nameOf(name)))) return 'restored';
  const same = files.every(({ name, text }) => readFileSync(join(pki, nameOf(name)), 'utf8') === text);
  return same || !overKeys ? 'kept' : 'restored';
}

/** undefined: there is no store. Throws when a server has it open. */
function highestIn(directory: string): number | undefined {
  return existsSync(directory) && filesBelow(directory).length > 0 ? salvage(directory).highest : undefined;
}

export interface Examination {
  /** undefined: the store is whole. */
  readonly damage: StorageError | undefined;
  readonly saved: Salvaged;
}

/** Changes nothing but with `acceptLoss`. Throws StorageError when a server has it open. */
export function repairStore(
  dataDir: string,
  options: { readonly acceptLoss: boolean },
): Examination & { readonly accepted?: Restored } {
  const { store } = dataPaths(dataDir);
  if (!existsSync(store)) throw new Error(`there is no store in ${dataDir}`);
  const owned = ownDataDirectory(dataDir, howToStop(dataDir));
  try {
    const found = { damage: damageOf(store), saved: salvage(store) };
    if (found.damage === undefined || !options.acceptLoss) return found;
    return { ...found, accepted: goOnWith(dataDir, found.saved) };
  } finally {
    owned.release();
  }
}

/** A store of what can be read, ahead of every revision that was given out. */
function goOnWith(dataDir: string, { entries, highest }: Salvaged): Restored {
  const revision = buildStore(`${dataPaths(dataDir).store}.new`, entries, highest, systemRandom);
  const aside = freeName(dataDir, 'db.damaged');
  exchange(dataDir, [{ name: 'db', aside }]);
  recordContents(dataDir);
  return { revision, objects: entries.length, aside: [join(dataDir, aside)], removed: [], pki: 'kept' };
}
