// Keeps a log that another process writes to small: what is over the limit moves to numbered files beside it.
import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';

export interface RotationLimits {
  readonly maxBytes: number;
  /** Old files beside the current one. */
  readonly keep: number;
}

export const logLimits: RotationLimits = { maxBytes: 10 << 20, keep: 3 };

/**
 * The writer appends to the file that it has opened, so that the file is copied and emptied, not moved. What is written
 * between the two is lost: a line or so each ten megabytes. True when it was rotated.
 */
export function rotateServerLog(file: string, { maxBytes, keep }: RotationLimits): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return false;
  for (let i = keep - 1; i >= 1; i--)
    if (existsSync(`${file}.${i}`)) renameSync(`${file}.${i}`, `${file}.${i + 1}`);
  try {
    copyFileSync(file, `${file}.1`);
  } catch {
    // The disk may be full: a log that goes on growing would not help.
    rmSync(`${file}.1`, { force: true, recursive: true });
  }
  truncateSync(file);
  return true;
}
