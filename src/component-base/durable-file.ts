// Files that outlive a power cut: their bytes, and their names in their folder, are on the disk before anyone is told.
import {
  closeSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What a folder says of its entries is on the disk. */
export function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a folder of ours alone, and those above it that are missing. */
export function makeFolderDurably(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const highest = dirname(resolve(first));
  for (let at = resolve(folder); at !== highest; at = dirname(at)) syncFolder(dirname(at));
}

export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
}

/** It would keep the space that a full disk lacks. Why it is half matters more than that it can't be removed. */
function removeHalf(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

/** What a killed write left, or a link of somebody else to a file that is not his: the name goes, nothing is followed. */
function removeName(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Whole or not at all, readable by its owner only, also where others may write: only a file made here is written or given away. */
export function writeDurably(
  path: string,
  bytes: string | Uint8Array,
  owner?: { readonly uid: number; readonly gid: number },
): void {
  const half = `${path}.new`;
  removeName(half);
  const file = openSync(half, 'wx', 0o600);
  try {
    try {
      if (owner) fchownSync(file, owner.uid, owner.gid);
      writeFileSync(file, bytes);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameDurably(half, path);
  } catch (error) {
    removeHalf(half);
    throw error;
  }
}
