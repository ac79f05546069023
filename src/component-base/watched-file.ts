// Tells when a file's content has changed. Looked at now and then: links and mounts are replaced without telling their readers.
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { checkConfigurationSize } from './configuration-size.ts';

export interface WatchedFile {
  /** As it was when it was last looked at. */
  readonly text: string;
  stop(): void;
}

export interface WatchedFileOptions {
  readonly everyMs: number;
  readonly changed: (text: string) => void;
  /** What was read of it before, so that nothing is missed since; default: it is read. */
  readonly known?: string;
  /** At each look at which it can't be read: what was there before holds. */
  readonly unread: (error: unknown) => void;
}

/** Throws when it can't be read at first, or is too large; afterwards one that is away is looked for again. */
export function watchFile(
  path: string,
  clock: Clock,
  { everyMs, changed, unread, known }: WatchedFileOptions,
): WatchedFile {
  if (known === undefined) checkConfigurationSize(path);
  let text = known ?? readFileSync(path, 'utf8');
  let cancel = (): void => {};
  const read = (): string => {
    try {
      // Whoever opens a pipe waits for a writer, and the whole server with it.
      if (!statSync(path).isFile()) throw new Error(`${path} is no regular file`);
      checkConfigurationSize(path);
      return readFileSync(path, 'utf8');
    } catch (error) {
      unread(error);
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
