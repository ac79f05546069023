// Opens what a server has stored: the driver, what is sealed, and the caches that serve it.
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { objectLifetimes } from '../../controlplane/object-lifetimes.ts';
import { openSqliteStorage } from '../../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { type ClosableCacheSource, createCacheSource } from '../../storage/watch/cache-source.ts';
import { dataPaths, serverIdentity } from './data-directory.ts';
import type { Encryption } from './encryption.ts';

export interface StoreOptions {
  readonly dataDir: string;
  /** An EncryptionConfiguration: what lies sealed in the store. Default: nothing. */
  readonly encryptionProviderConfig?: string | undefined;
  /** It is read again when it changes. */
  readonly encryptionReload?: boolean | undefined;
  /** How long Events live. Default an hour. */
  readonly eventTtlMs?: number | undefined;
  /** Tests keep everything in memory. */
  readonly storage?: Storage;
  /** Scripts of threads, when they are bundled apart. */
  readonly workerUrls?: { readonly storage: URL; readonly yaml: URL };
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

/** `onBroken`: it can't be trusted any more. */
export async function openStore(
  { dataDir, log, storage, workerUrls }: StoreOptions,
  opened: AsyncDisposableStack,
  onBroken: (error: Error) => void,
): Promise<Storage> {
  const opening = Promise.resolve(
    storage ??
      openSqliteStorage({
        directory: dataPaths(dataDir).store,
        clock: systemClock,
        onTrouble: (error) => {
          if (error === undefined) log.info({}, 'the store can write again');
          else log.error({ error }, 'the store cannot write');
          if (error?.code === 'Broken' || error?.code === 'Corrupt') onBroken(error);
        },
        workerUrl: workerUrls?.storage,
      }),
  );
  opened.defer(() => opening.then((open) => open.close()).catch(() => undefined));
  return opening;
}

/** What the API serves is open; what is backed up is as it is stored. */
async function unsealed(
  options: StoreOptions,
  storage: Storage,
  opened: AsyncDisposableStack,
): Promise<Encryption> {
  const { encryptionProviderConfig: file, encryptionReload: reload = false, dataDir, log, metrics } = options;
  if (file === undefined) {
    if (reload)
      throw new Error(
        '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
      );
    return { storage, health: [], tell: () => {}, settled: async () => {}, stop: () => {} };
  }
  const { openEncryption } = await import('./encryption.ts');
  const serverId = serverIdentity(dataDir, systemRandom);
  const encryption = await openEncryption({ file, reload }, storage, {
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    serverId,
  });
  opened.defer(() => encryption.stop());
  return encryption;
}

export async function openCaches(
  stored: Storage,
  options: StoreOptions,
  opened: AsyncDisposableStack,
): Promise<{ readonly encryption: Encryption; readonly caches: ClosableCacheSource }> {
  const { eventTtlMs, log } = options;
  const encryption = await unsealed(options, stored, opened);
  const caches = await createCacheSource(encryption.storage, systemClock, {
    onUnreadable: (key) =>
      log.error({ key }, 'a stored object is no JSON and is left out; its name stays taken'),
    lifetimes: objectLifetimes(eventTtlMs),
    onTrouble: (why) => log.warn({ why }, 'the watch of the store has ended and is begun anew'),
  });
  opened.defer(() => caches.close());
  encryption.tell(() =>
    caches.readAgain().catch((error: unknown) => {
      log.error({ error }, 'sealed objects are not read again');
      return 0;
    }),
  );
  return { encryption, caches };
}
