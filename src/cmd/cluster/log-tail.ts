// What a process said last, for error messages.
import { readFileSync } from 'node:fs';

const lastLines = 15;

/** From its last error on, as the command line says it; without one, the last lines. Pure. */
export function lastWords(log: string): string {
  const lines = log.trimEnd().split('\n').slice(-lastLines);
  const error = lines.findLastIndex((line) => line.startsWith('porthole: '));
  return (error < 0 ? lines : lines.slice(error)).join('\n');
}

export function logTail(file: string): string {
  try {
    return lastWords(readFileSync(file, 'utf8'));
  } catch {
    return '(no log)';
  }
}
