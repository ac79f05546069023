// Tells which stored values can't be opened: some by their names, and how many more. With a plugin that is down it is all of them.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';

/** Of one resource, and in one window. */
const namedValues = 10;
const windowMs = 10_000;

/** `/registry/core/secrets/default/a` → `core/secrets`. */
const resourceOf = (key: string): string => key.split('/', 4).slice(2).join('/');

export function sealedValueLog(
  log: Pick<Logger, 'error'>,
  clock: Clock,
): (key: string, error: Error) => void {
  const windows = new Map<string, { told: number }>();
  const begin = (resource: string): { told: number } => {
    const window = { told: 0 };
    windows.set(resource, window);
    clock.timer(windowMs, () => {
      windows.delete(resource);
      const more = window.told - namedValues;
      if (more > 0) log.error({ resource, more }, 'more stored values can not be opened');
    });
    return window;
  };
  return (key, error) => {
    const resource = resourceOf(key);
    const window = windows.get(resource) ?? begin(resource);
    if (++window.told > namedValues) return;
    log.error(
      { key, error },
      'a stored value can not be opened: the key that it was written with must be among the providers of --encryption-provider-config, and a plugin well',
    );
  };
}
