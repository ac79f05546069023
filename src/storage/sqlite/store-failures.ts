// What an error of the system or of SQLite means for a store.
import { StorageError } from '../storage-error.ts';
import { isDiskFull } from './disk-full.ts';
import { readError } from './read-errors.ts';
import { UnsupportedFormat } from './schema.ts';

const nextStep = 'restore it from a backup (porthole restore), or keep what can be read (porthole repair)';

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export function corrupt(directory: string, cause: unknown): StorageError {
  return new StorageError(
    'Corrupt',
    `the store in ${directory} is damaged (${textOf(cause)}): ${nextStep}; nothing was changed`,
    cause,
  );
}

export function lost(directory: string, has: number, acknowledged: number): StorageError {
  return new StorageError(
    'Lost',
    `the store in ${directory} ends at revision ${has}, but revision ${acknowledged} was acknowledged: ${nextStep}; nothing was changed`,
  );
}

interface SystemFailure {
  readonly code?: string;
  readonly syscall?: string;
  /** SQLite's extended result code. */
  readonly errcode?: number;
}

const noSpace: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const sqliteFull = 13;
const sqliteIoSync: readonly unknown[] = [1034, 1290]; // SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC

/** A sync that failed may have dropped what it should have written: the next one would succeed and prove nothing. */
export function isFailedSync(error: unknown): boolean {
  const { syscall, errcode } = error as SystemFailure;
  return syscall === 'fdatasync' || syscall === 'fsync' || sqliteIoSync.includes(errcode);
}

export function writeFailure(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const { code, errcode } = error as SystemFailure;
  if (noSpace.includes(code) || errcode === sqliteFull)
    return new StorageError('NoSpace', `the store cannot write: ${textOf(error)}`, error);
  return new StorageError('WriteFailed', `the store cannot write: ${textOf(error)}`, error);
}

/** What may be on disk is not known any more: only opening anew tells. */
export function broken(error: unknown): StorageError {
  return new StorageError(
    'Broken',
    `the store cannot tell any more what is on its disk and must be opened anew: ${textOf(error)}`,
    error,
  );
}

/** Whoever reads from memory what a watcher keeps would read the past for ever. */
export function watcherFailed(error: unknown): StorageError {
  return new StorageError(
    'Broken',
    `what is in memory may differ from the store, which must be opened anew: a watcher failed: ${textOf(error)}`,
    error,
  );
}

const sqliteSystemErrors: readonly number[] = [8, 10, 13, 14]; // READONLY, IOERR, FULL, CANTOPEN

export function openFailure(directory: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const text = textOf(error);
  if (/locked|busy/i.test(text))
    return new StorageError('Locked', `the store in ${directory} is in use by another process`, error);
  if (error instanceof UnsupportedFormat)
    return new StorageError('Unsupported', `the store in ${directory} ${text}`, error);
  const { syscall, errcode } = error as SystemFailure;
  if (syscall !== undefined || sqliteSystemErrors.includes((errcode ?? 0) & 0xff)) {
    const why = isDiskFull(directory) ? `${text} (its disk is full: free some space)` : text;
    return new StorageError('WriteFailed', `cannot open the store in ${directory}: ${why}`, error);
  }
  // What the disk does not give back is not damaged, as far as anybody knows.
  const unread = readError(directory);
  if (unread !== undefined)
    return new StorageError(
      'WriteFailed',
      `cannot read the store in ${directory}: ${textOf(unread)}`,
      unread,
    );
  return corrupt(directory, error);
}
