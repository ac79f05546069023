// Backups of a server's data directory: taken while it runs or not, put back, and what can be saved from a damaged one.
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { rfc3339 } from '../../base/clock.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { readAll } from '../../client/transport.ts';
import { httpTransport } from '../../client/transport-http.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { type Backup, decodeBackup, encodeBackup } from '../../storage/backup/backup-format.ts';
import { DurableStore } from '../../storage/sqlite/durable-store.ts';
import { rebuildStore } from '../../storage/sqlite/rebuild.ts';
import { type Salvaged, salvage } from '../../storage/sqlite/salvage.ts';
import { StorageError } from '../../storage/storage-error.ts';
import { backupPath } from './backup-endpoint.ts';
import { dataPaths, filesBelow, recordContents, writePrivate } from './data-directory.ts';

const maxBackupBytes = 2 ** 31;

/** Everything, as of one revision; `running`: it was read from the server, which went on. */
export async function takeBackup(
  dataDir: string,
  options: { readonly pki: boolean },
): Promise<{ readonly backup: Backup; readonly running: boolean }> {
  const { store, pki } = dataPaths(dataDir);
  if (!existsSync(store)) throw new Error(`there is no store in ${dataDir}`);
  const stopped = readStopped(store);
  const found = stopped ?? (await askServer(dataDir));
  const names = options.pki ? filesBelow(pki) : [];
  const files = names.map((name) => ({
    name: `pki/${name}`,
    text: readFileSync(join(pki, name), 'utf8'),
  }));
  return { backup: { ...found, files }, running: stopped === undefined };
}

/** undefined: a server has it open. */
function readStopped(directory: string): Backup | undefined {
  let store: DurableStore;
  try {
    store = new DurableStore(directory, systemRandom);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'Locked') return undefined;
    throw error;
  }
  try {
    const entries = [...store.rows()];
    return { revision: store.revision(), createdAt: rfc3339(systemClock.now()), entries, files: [] };
  } finally {
    store.close();
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
  writePrivate(file, packed);
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

export interface Restored {
  readonly revision: number;
  readonly objects: number;
  /** Where the store, and the keys, that were there lie now. */
  readonly aside: readonly string[];
  readonly pki: 'restored' | 'kept' | 'not in the backup';
}

function checkNames({ files }: Backup): void {
  for (const { name } of files)
    if (!/^pki\/[a-z0-9][a-z0-9./-]*$/.test(name) || name.includes('..'))
      throw new Error(`the backup names a file that is none of a server's: ${JSON.stringify(name)}`);
}

/** `force`: what is there is put aside. A backup that is refused changes nothing. */
export function restoreBackup(dataDir: string, backup: Backup, force: boolean): Restored {
  checkNames(backup);
  const paths = dataPaths(dataDir);
  const stamp = rfc3339(systemClock.now()).replaceAll(':', '-');
  const known = highestIn(paths.store);
  if (known !== undefined && !force)
    throw new Error(`there is a store in ${dataDir}: --force puts it aside and restores over it`);
  const aside: string[] = [];
  const storeAside = `${paths.store}.before-${stamp}`;
  if (known !== undefined) aside.push(storeAside);
  const revision = rebuildStore(
    paths.store,
    storeAside,
    backup.entries,
    Math.max(backup.revision, known ?? 0),
    systemRandom,
  );
  const pki = restorePki(paths.pki, backup, force, stamp, aside);
  // Everything that this folder is to hold from now on.
  rmSync(paths.contents, { force: true });
  recordContents(dataDir);
  return { revision, objects: backup.entries.length, aside, pki };
}

function restorePki(
  pki: string,
  { files }: Backup,
  force: boolean,
  stamp: string,
  aside: string[],
): Restored['pki'] {
  if (files.length === 0) return 'not in the backup';
  const here = filesBelow(pki);
  const whole = files.every(({ name }) => here.includes(name.slice('pki/'.length)));
  if (here.length > 0 && whole && !force) return 'kept';
  if (here.length > 0) {
    aside.push(`${pki}.before-${stamp}`);
    renameSync(pki, `${pki}.before-${stamp}`);
  }
  for (const { name, text } of files) writePrivate(join(pki, name.slice('pki/'.length)), text);
  return 'restored';
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

/** Changes nothing. Throws StorageError when a server has it open. */
export function examineStore(dataDir: string): Examination {
  const { store } = dataPaths(dataDir);
  if (!existsSync(store)) throw new Error(`there is no store in ${dataDir}`);
  return { damage: damageOf(store), saved: salvage(store) };
}

function damageOf(directory: string): StorageError | undefined {
  try {
    const store = new DurableStore(directory, systemRandom);
    try {
      for (const _ of store.rows());
      for (const _ of store.history(store.floor()));
      return store.structuralDamage();
    } finally {
      store.close();
    }
  } catch (error) {
    if (error instanceof StorageError && ['Corrupt', 'Lost'].includes(error.code)) return error;
    throw error;
  }
}

/** A store of what can be read, ahead of every revision that was given out. */
export function acceptLoss(dataDir: string, { saved }: Examination): Restored {
  const { store } = dataPaths(dataDir);
  const aside = `${store}.damaged-${rfc3339(systemClock.now()).replaceAll(':', '-')}`;
  const revision = rebuildStore(store, aside, saved.entries, saved.highest, systemRandom);
  return { revision, objects: saved.entries.length, aside: [aside], pki: 'kept' };
}
