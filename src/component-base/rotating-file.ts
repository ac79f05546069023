// A file of lines that is begun anew when it is full: old ones lie beside it by the time they ended, some of them, for some days.
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '../base/clock.ts';

export interface RotatingFileOptions {
  readonly path: string;
  /** 0: it only grows. */
  readonly maxBytes: number;
  /** Old files beside it; 0: all. */
  readonly maxBackups: number;
  /** How long old files are kept; 0: for good. */
  readonly maxAgeMs: number;
  readonly compress: boolean;
  readonly clock: Pick<Clock, 'now'>;
  /** Old files could not be looked after, or the file not be begun anew. */
  onTrouble(error: unknown): void;
}

/** Secrets may be in it: for its owner alone. */
const fileMode = 0o600;
const folderMode = 0o700;
const compressed = '.gz';
const lineEnd = 10;

interface Backup {
  readonly name: string;
  readonly endedAt: number;
}

/** 2026-01-02T03-04-05.678, which sorts by time and stands in a name. */
const stampOf = (ms: number): string => new Date(ms).toISOString().slice(0, 23).replaceAll(':', '-');

const timeOf = (stamp: string): number =>
  Date.parse(`${stamp.slice(0, 10)}T${stamp.slice(11).replaceAll('-', ':')}Z`);

export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #file: number;
  #size: number;
  /** The last try to begin it anew failed. */
  #isStuck = false;
  #tidying: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
    mkdirSync(dirname(options.path), { recursive: true, mode: folderMode });
    ({ file: this.#file, size: this.#size } = open(options.path));
    this.#tidy();
  }

  /** Whole lines: all are in the file, or none and it throws. */
  write(lines: string): void {
    // Its number may be another file's by now.
    if (this.#closing !== undefined) throw new Error(`${this.#options.path} is closed`);
    const bytes = Buffer.from(lines);
    const { maxBytes } = this.#options;
    if (maxBytes > 0 && this.#size > 0 && this.#size + bytes.length > maxBytes) this.#rotate();
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(this.#file, bytes, at);
    } catch (error) {
      // A full disk took the beginning: half a line would spoil the next one. Somebody else may have emptied the file meanwhile.
      if (at > 0) ftruncateSync(this.#file, Math.max(0, fstatSync(this.#file).size - at));
      throw error;
    }
    this.#size += bytes.length;
  }

  /** Old files have been looked after. */
  settled(): Promise<void> {
    return this.#tidying;
  }

  /** Once, however often it is asked for. */
  close(): Promise<void> {
    this.#closing ??= this.#tidying.then(() => closeSync(this.#file));
    return this.#closing;
  }

  /** Where that fails, the file goes on growing: lines that are written count more than its size. */
  #rotate(): void {
    const { path, onTrouble } = this.#options;
    try {
      // Somebody may have removed the folder with all that is in it.
      mkdirSync(dirname(path), { recursive: true, mode: folderMode });
      if (existsSync(path)) renameSync(path, this.#backupPath());
      const opened = open(path);
      closeSync(this.#file);
      ({ file: this.#file, size: this.#size } = opened);
      this.#isStuck = false;
      this.#tidy();
    } catch (error) {
      // It is tried with each line that is written, and said once.
      if (!this.#isStuck) onTrouble(error);
      this.#isStuck = true;
    }
  }

  #backupPath(): string {
    const { clock } = this.#options;
    for (let at = clock.now(); ; at++) {
      const { folder, stem, extension } = this.#name();
      const free = join(folder, `${stem}-${stampOf(at)}${extension}`);
      if (!existsSync(free) && !existsSync(free + compressed)) return free;
    }
  }

  #name(): { readonly folder: string; readonly stem: string; readonly extension: string } {
    const { path } = this.#options;
    const extension = extname(path);
    return { folder: dirname(path), stem: basename(path, extension), extension };
  }

  #tidy(): void {
    const { onTrouble } = this.#options;
    this.#tidying = this.#tidying.then(() => this.#tidyBackups()).catch(onTrouble);
  }

  async #tidyBackups(): Promise<void> {
    const { compress, maxAgeMs, maxBackups, clock } = this.#options;
    const { folder } = this.#name();
    const oldest = maxAgeMs > 0 ? clock.now() - maxAgeMs : Number.NEGATIVE_INFINITY;
    for (const [i, { name, endedAt }] of this.#backups().entries()) {
      const path = join(folder, name);
      if ((maxBackups > 0 && i >= maxBackups) || endedAt < oldest) rmSync(path, { force: true });
      else if (compress && !name.endsWith(compressed)) await compressFile(path);
    }
  }

  /** The newest first. */
  #backups(): Backup[] {
    const { folder, stem, extension } = this.#name();
    return readdirSync(folder)
      .flatMap((name): Backup[] => {
        const plain = name.endsWith(compressed) ? name.slice(0, -compressed.length) : name;
        if (!plain.startsWith(`${stem}-`) || !plain.endsWith(extension)) return [];
        const endedAt = timeOf(plain.slice(stem.length + 1, plain.length - extension.length));
        return Number.isNaN(endedAt) ? [] : [{ name, endedAt }];
      })
      .sort((a, b) => b.endedAt - a.endedAt);
  }
}

/** A crash may have cut the last line: the next one begins a line of its own. */
function open(path: string): { readonly file: number; readonly size: number } {
  const file = openSync(path, 'a+', fileMode);
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size === 0 || (readSync(file, last, 0, 1, size - 1) === 1 && last[0] === lineEnd))
      return { file, size };
    return { file, size: size + writeSync(file, '\n') };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

async function compressFile(path: string): Promise<void> {
  const into = path + compressed;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(into, { mode: fileMode }));
  } catch (error) {
    rmSync(into, { force: true });
    throw error;
  }
  rmSync(path);
}
