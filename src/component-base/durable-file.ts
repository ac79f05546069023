// Files that outlive a power cut: their bytes, and their names in their folder, are on the disk before anyone is told.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

/** Whole or not at all, readable by its owner only. */
export function writeDurably(path: string, bytes: string | Uint8Array): void {
  try {
    writeFileSync(`${path}.new`, bytes, { mode: 0o600, flush: true });
    renameDurably(`${path}.new`, path);
  } catch (error) {
    removeHalf(`${path}.new`);
    throw error;
  }
}
