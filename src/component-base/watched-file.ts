// Tells when a file's content has changed. Looked at now and then: links and mounts are replaced without telling their readers.
import { readFileSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';

export interface WatchedFile {
  /** As it was when it was last looked at. */
  readonly text: string;
  stop(): void;
}

/** Throws when it can't be read at first; afterwards one that is away for a moment is looked for again. */
export function watchFile(
  path: string,
  clock: Clock,
  { everyMs, changed }: { readonly everyMs: number; readonly changed: (text: string) => void },
): WatchedFile {
  let text = readFileSync(path, 'utf8');
  let cancel = (): void => {};
  const read = (): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return text;
    }
  };
  const look = (): void => {
    cancel = clock.timer(everyMs, look);
    const now = read();
    if (now === text) return;
    text = now;
    changed(now);
  };
  cancel = clock.timer(everyMs, look);
  return {
    get text() {
      return text;
    },
    stop: () => cancel(),
  };
}
