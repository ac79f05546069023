// Space that is held back on the disk, so that deleting, and what it takes, still works when nothing else does.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from 'node:fs';

/** A checkpoint of a full journal fits. */
const reserveBytes = 8 << 20;
/** Beyond it, before writing begins again: else every second write would succeed. */
const headroomBytes = 1 << 20;
const piece = Buffer.alloc(128 << 10);

export function hasHeadroom(path: string): boolean {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize >= headroomBytes;
}

export class Reserve {
  readonly #file: number;
  readonly #path: string;
  #held: boolean;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#held = fstatSync(this.#file).size >= reserveBytes;
  }

  /** Throws an error of code ENOSPC, or another of the system's, when there is no space for it. */
  hold(): void {
    if (this.#held) return;
    const zeros = Buffer.alloc(1 << 20);
    const before = fstatSync(this.#file).size;
    try {
      for (let at = before; at < reserveBytes; )
        at += writeSync(this.#file, zeros, 0, Math.min(zeros.length, reserveBytes - at), at);
      if (!hasHeadroom(this.#path))
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    } catch (error) {
      ftruncateSync(this.#file, before);
      throw error;
    }
    this.#held = true;
  }

  /** A write has failed: what is held stays, but there must be more before the next one is tried. */
  doubt(): void {
    this.#held = false;
  }

  isEmpty(): boolean {
    return fstatSync(this.#file).size === 0;
  }

  /**
   * Makes files that long out of what is held, one like the other. In pieces: whoever fills the disk must not take it all
   * between; what it does take is missing in each of them.
   */
  moveTo(files: readonly { readonly file: number; readonly length: number }[]): void {
    const short = files.map((one) => ({ ...one, at: fstatSync(one.file).size }));
    let left = fstatSync(this.#file).size;
    while (left > 0) {
      const one = short.shift();
      if (one === undefined) break;
      if (one.at >= one.length) continue;
      left = Math.max(left - piece.length, 0);
      ftruncateSync(this.#file, left);
      try {
        one.at += writeSync(one.file, piece, 0, Math.min(piece.length, one.length - one.at), one.at);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      short.push(one);
    }
    this.#held = false;
  }

  release(): void {
    ftruncateSync(this.#file, 0);
    this.#held = false;
  }

  close(): void {
    closeSync(this.#file);
  }
}
