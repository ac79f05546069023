// How many files, sockets and pipes the kernel lets this process have open.
import { readFileSync } from 'node:fs';

/** Infinity: as many as it likes, or nobody says. */
export function mostOpenFiles(readLimits = (): string => readFileSync('/proc/self/limits', 'utf8')): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readLimits())?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
