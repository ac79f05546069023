// Tells which stored values can't be opened, or sealed: some by their names, and how many more. With a plugin that is down it is all of them.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';

/** Of one resource, and in one window. */
const namedValues = 10;
const windowMs = 10_000;

/** `/registry/core/secrets/default/a` → `core/secrets`. */
const resourceOf = (key: string): string => key.split('/', 4).slice(2).join('/');

interface Window {
  told: number;
  readonly cancel: () => void;
}

export interface SealedValueLog {
  told(key: string, error: Error): void;
  /** What was not named is counted now. */
  stop(): void;
}

interface Words {
  readonly one: string;
  readonly more: string;
}
export const unopened: Words = {
  one: 'a stored value can not be opened: the key that it was written with must be among the providers of --encryption-provider-config, and a plugin well',
  more: 'more stored values can not be opened',
};
export const unsealed: Words = {
  one: 'a value can not be sealed, and was not written: the first provider of --encryption-provider-config must be well',
  more: 'more values can not be sealed, and were not written',
};

export function sealedValueLog(log: Pick<Logger, 'error'>, clock: Clock, words: Words): SealedValueLog {
  const windows = new Map<string, Window>();
  const end = (resource: string, { cancel, told }: Window): void => {
    cancel();
    windows.delete(resource);
    const more = told - namedValues;
    if (more > 0) log.error({ resource, more }, words.more);
  };
  const begin = (resource: string): Window => {
    const window = { told: 0, cancel: clock.timer(windowMs, () => end(resource, window)) };
    windows.set(resource, window);
    return window;
  };
  const told = (key: string, error: Error): void => {
    const resource = resourceOf(key);
    const window = windows.get(resource) ?? begin(resource);
    if (++window.told > namedValues) return;
    log.error({ key, error: error.message }, words.one);
  };
  return {
    told,
    stop() {
      for (const [resource, window] of windows) end(resource, window);
    },
  };
}
