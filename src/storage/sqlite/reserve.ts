// Space that is held back on the disk, so that deleting still works when nothing else does.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from 'node:fs';

/** A checkpoint of a full journal fits. */
const reserveBytes = 8 << 20;
/** Beyond it, before writing begins again: else every second write would succeed. */
const headroomBytes = 1 << 20;

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
    try {
      for (let at = 0; at < reserveBytes; )
        at += writeSync(this.#file, zeros, 0, Math.min(zeros.length, reserveBytes - at), at);
      const { bavail, bsize } = statfsSync(this.#path);
      if (bavail * bsize < headroomBytes)
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    } catch (error) {
      ftruncateSync(this.#file, 0);
      throw error;
    }
    this.#held = true;
  }

  release(): void {
    ftruncateSync(this.#file, 0);
    this.#held = false;
  }

  close(): void {
    closeSync(this.#file);
  }
}
