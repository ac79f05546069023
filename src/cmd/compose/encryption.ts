// Keys of what lies sealed in the store, out of their file, at the start and, where that is asked for, whenever it changes.
import { readFile } from 'node:fs/promises';
import { readEncryptionConfiguration } from '../../api/config/encryption-configuration.ts';
import type { HealthCheck } from '../../apiserver/healthz.ts';
import { backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { checkConfigurationSize } from '../../component-base/configuration-size.ts';
import { inWords, type Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { EncryptedStorage } from '../../storage/encryption/encryption-at-rest.ts';
import type { Storage } from '../../storage/storage.ts';
import { type EncryptionKeys, encryptionKeys, type KeysDependencies } from './encryption-keys.ts';
import { EncryptionMetrics } from './encryption-metrics.ts';
import { LookingAgain } from './looking-again.ts';
import { sealedValueLog, unopened, unsealed } from './sealed-value-log.ts';

interface EncryptionDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Of this server; told by its digest. */
  readonly serverId: string;
  /** How often the file is looked at. As upstream: a minute. */
  readonly everyMs?: number | undefined;
  /** After the last value that was moved. */
  readonly scrubAfterMs?: number | undefined;
}

export interface Encryption {
  /** What is written through it is sealed. */
  readonly storage: Storage;
  readonly health: readonly HealthCheck[];
  /** Who looks again at what could not be opened, when that may have changed; answers how much is still closed, never rejects. */
  tell(listener: () => Promise<number>): void;
  /** What was moved to another key, or from plain, is in no file any more as it lay before. */
  settled(): Promise<void>;
  stop(): void;
}

interface Loaded {
  readonly hash: string;
  readonly keys: EncryptionKeys;
}

/** As upstream: how long new plugins may take to be well, at least. */
const shortestGraceMs = 10_000;
const healthPauseMs = 100;
const firstRetryMs = 1_000;

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** It is not kept: there are keys in it. */
async function read(file: string): Promise<{ readonly text: string; readonly hash: string }> {
  checkConfigurationSize(file);
  const text = await readFile(file, 'utf8');
  if (text === '') throw new Error(`encryption provider configuration file ${JSON.stringify(file)} is empty`);
  return { text, hash: `sha256:${sha256Hex(text)}` };
}

/** Throws when the file is not there or wrong: a server that wrote plainly what was to be sealed would help nobody. */
async function load(file: string, deps: KeysDependencies): Promise<Loaded> {
  try {
    const { text, hash } = await read(file);
    return { hash, keys: await encryptionKeys(readEncryptionConfiguration(text), deps) };
  } catch (cause) {
    throw new Error(
      `--encryption-provider-config: error while parsing file ${JSON.stringify(file)}: ${textOf(cause)}`,
      { cause },
    );
  }
}

/** All plugins, one after the other, as upstream: the numbers are their places in the file. */
async function checkAll({ providers }: EncryptionKeys): Promise<void> {
  const errors: string[] = [];
  for (const [i, { keys }] of providers.entries())
    await keys.check().catch((error: unknown) => errors.push(`kms-provider-${i}: ${textOf(error)}`));
  if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
}

/** In-flight calls end before their plugin's connection does. */
const graceMsOf = ({ providers }: EncryptionKeys): number =>
  2 * providers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);

/** Tells once that a plugin is not well, and once that it is again. */
function plugins(log: Logger, isWell: () => void): KeysDependencies['checked'] {
  const failing = new Set<string>();
  return (provider, error) => {
    if (error !== undefined) {
      if (!failing.has(provider)) log.error({ provider, error: inWords(error) }, 'a KMS plugin is not well');
      failing.add(provider);
      return;
    }
    if (failing.delete(provider)) log.info({ provider }, 'a KMS plugin is well again');
    isWell();
  };
}

/** Moves of many values are followed by one rewriting of the files, a while after the last of them. */
class Scrubbing {
  readonly #inner: Storage;
  readonly #deps: EncryptionDependencies;
  #cancel: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(inner: Storage, deps: EncryptionDependencies) {
    this.#inner = inner;
    this.#deps = deps;
  }

  moved(): void {
    const { clock, scrubAfterMs = 30_000 } = this.#deps;
    this.#cancel?.();
    this.#cancel = clock.timer(scrubAfterMs, () => void this.settled());
  }

  settled(): Promise<void> {
    if (this.#cancel === undefined) return this.#running;
    this.#cancel();
    this.#cancel = undefined;
    this.#running = this.#running.then(() => this.#scrub());
    return this.#running;
  }

  async #scrub(): Promise<void> {
    try {
      await this.#inner.scrub?.();
    } catch (error) {
      this.#deps.log.error(
        { error },
        'what values were before they were moved to another key is still on disk',
      );
    }
  }
}

/** Rejects for what can't be followed. */
export async function openEncryption(
  { file, reload }: { readonly file: string; readonly reload: boolean },
  inner: Storage,
  deps: EncryptionDependencies,
): Promise<Encryption> {
  const { clock, log, metrics, random, serverId } = deps;
  const measures = new EncryptionMetrics(metrics, clock, serverId);
  const closing = new AbortController();
  let listener = async (): Promise<number> => 0;
  const hasPlugins = (): boolean => now.keys.providers.length > 0;
  const looking = new LookingAgain(clock, async () => {
    const left = await listener();
    return left > 0 && hasPlugins() ? left : 0;
  });
  const keysDeps: KeysDependencies = {
    clock,
    random,
    measures,
    checked: plugins(log, () => void looking.now()),
  };
  let now = await load(file, keysDeps);
  measures.holds(now.hash);
  const change = (next: Loaded): void => {
    const { keys } = now;
    now = next;
    measures.holds(next.hash);
    clock.timer(graceMsOf(keys), () => keys.close());
    void looking.now();
  };
  if (reload)
    void follow(file, () => now.hash, change, { ...keysDeps, deps, measures, signal: closing.signal });
  const scrubbing = new Scrubbing(inner, deps);
  const sealed = sealedValueLog(log, clock, unopened);
  const refused = sealedValueLog(log, clock, unsealed);
  const hasHealth = reload || hasPlugins();
  const health = { name: 'kms-providers', paths: ['readyz', 'healthz'], check: () => checkAll(now.keys) };
  return {
    health: hasHealth ? [health] : [],
    storage: new EncryptedStorage(inner, (key) => now.keys.formsOf(key), {
      now: () => clock.monotonic(),
      onTransformed: (...told) => measures.transformed(...told),
      onMoved: () => scrubbing.moved(),
      onSealed: (...told) => {
        sealed.told(...told);
        if (hasPlugins()) looking.soon();
      },
      onUnsealed: (...told) => refused.told(...told),
    }),
    tell: (to) => {
      listener = to;
      if (hasPlugins()) looking.soon();
    },
    settled: () => scrubbing.settled(),
    stop() {
      closing.abort();
      looking.stop();
      now.keys.close();
      sealed.stop();
      refused.stop();
      measures.stop();
    },
  };
}

interface Following extends KeysDependencies {
  readonly deps: EncryptionDependencies;
  readonly signal: AbortSignal;
}

/** What the file says is taken when it can be read and all its plugins are well; until then holds what was before. */
async function follow(
  file: string,
  hashNow: () => string,
  change: (next: Loaded) => void,
  following: Following,
): Promise<void> {
  const { clock, log, everyMs = 60_000 } = following.deps;
  const { measures, signal } = following;
  for (let failures = 0; ; ) {
    const pauseMs =
      failures === 0 ? everyMs : backoffMs({ firstMs: 2 * firstRetryMs, longestMs: everyMs }, failures);
    await clock.sleep(pauseMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      if ((await read(file)).hash !== hashNow()) {
        const next = await load(file, following);
        await untilWell(next, following);
        change(next);
        measures.reloaded('success');
        log.info({ file }, 'reloaded encryption config');
      }
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      measures.reloaded('failure');
      log.error(
        { file, error: inWords(error) },
        'error processing encryption config file; what was there before holds',
      );
    }
  }
}

async function untilWell({ keys }: Loaded, { clock, signal }: Following): Promise<void> {
  const until = clock.monotonic() + Math.max(shortestGraceMs, graceMsOf(keys));
  for (;;) {
    try {
      signal.throwIfAborted();
      return await checkAll(keys);
    } catch (cause) {
      if (clock.monotonic() < until && !signal.aborted) {
        await clock.sleep(healthPauseMs, signal).catch(() => {});
        continue;
      }
      keys.close();
      throw new Error(`health check for new transformers failed, polling error ${textOf(cause)}`, { cause });
    }
  }
}
