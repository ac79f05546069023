// Files by node:fs.
import type { BigIntStats, Stats } from 'node:fs';
import { constants, watch as watchPath } from 'node:fs';
import * as fs from 'node:fs/promises';
import type { FileInfo, FileKind, Files, OpenFile } from '../files.ts';

const defaultMaxBytes = 64 << 20;

function kindOf(s: Stats | BigIntStats): FileKind {
  if (s.isFile()) return 'file';
  if (s.isDirectory()) return 'directory';
  if (s.isSymbolicLink()) return 'symlink';
  if (s.isSocket()) return 'socket';
  if (s.isFIFO()) return 'fifo';
  if (s.isCharacterDevice()) return 'characterDevice';
  return s.isBlockDevice() ? 'blockDevice' : 'other';
}

const infoOf = (s: Stats): FileInfo => ({
  kind: kindOf(s),
  sizeBytes: s.size,
  mode: s.mode & 0o7777,
  uid: s.uid,
  gid: s.gid,
  inode: s.ino,
  modifiedMs: s.mtimeMs,
});

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '');
const missing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error));

async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}

/** Never past the bound, also where the size says 0 (proc) or the file grows. */
async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const parts: Buffer[] = [];
    let total = 0;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(64 << 10), 0, 64 << 10, null);
      if (bytesRead === 0) return Buffer.concat(parts, total);
      total += bytesRead;
      if (total > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`);
      parts.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** What a link that is not followed, a socket or a device without a driver says. */
const noRegularFile = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV'];

async function readHead(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY;
  let handle: fs.FileHandle;
  try {
    handle = await fs.open(path, flags);
  } catch (error) {
    if (noRegularFile.includes(codeOf(error))) return undefined;
    throw error;
  }
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(maxBytes), 0, maxBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function open(path: string): Promise<OpenFile> {
  const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    readAt: async (position, length) => {
      const buffer = Buffer.allocUnsafe(length);
      const { bytesRead } = await handle.read(buffer, 0, length, position);
      return buffer.subarray(0, bytesRead);
    },
    stat: async () => infoOf(await handle.stat()),
    close: () => handle.close(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function makeDirectory(path: string, mode = 0o755): Promise<void> {
  const first = await fs.mkdir(path, { recursive: true, mode });
  if (first !== undefined) await fs.chmod(path, mode);
}

export const linuxFiles: Files = {
  read: (path, options) => readBounded(path, options?.maxBytes ?? defaultMaxBytes),
  readIfThere: (path, options) => orUndefined(readBounded(path, options?.maxBytes ?? defaultMaxBytes)),
  readHead,
  write: async (path, data, options) => {
    await fs.writeFile(path, data, { mode: options?.mode ?? 0o644, flag: options?.exclusive ? 'wx' : 'w' });
    if (options?.mode !== undefined) await fs.chmod(path, options.mode);
  },
  open,
  makeDirectory,
  remove: (path) => fs.rm(path, { recursive: true, force: true }),
  lstat: async (path) => {
    const s = await orUndefined(fs.lstat(path));
    return s && infoOf(s);
  },
  stat: async (path) => {
    const s = await orUndefined(fs.stat(path));
    return s && infoOf(s);
  },
  list: async (path) => (await orUndefined(fs.readdir(path))) ?? [],
  symlink: (target, path) => fs.symlink(target, path),
  readLink: (path) => fs.readlink(path),
  rename: (from, to) => fs.rename(from, to),
  realPath: (path) => fs.realpath(path),
  changeMode: (path, mode) => fs.chmod(path, mode),
  changeOwner: (path, uid, gid) => fs.lchown(path, uid, gid),
  watch: (path, changed, signal) => {
    if (signal.aborted) return;
    const watcher = watchPath(path, { signal, persistent: false }, () => changed());
    watcher.on('error', () => changed());
  },
};
