// Turns CustomResourceDefinitions into kinds of the running server, says so in their status, and clears away the
// objects of one that is deleted.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { ensure, meta, nameOf, obj, objs, strs } from '../../apimachinery/json-access.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { WatchCursor } from '../../storage/watch/resource-cache.ts';
import { type RestHandler, restKey } from '../registry/rest-storage.ts';
import type { ResourceStore } from '../registry/store.ts';
import type { ApiServer } from '../server.ts';
import { customKind } from './custom-kind.ts';
import { customScale } from './custom-scale.ts';
import { cleanupFinalizer, definitionStatus, isEstablished, takenNames } from './definition-status.ts';
import type { CustomKind, ExtensibleScheme } from './extensible-scheme.ts';

export interface CustomResourcesConfig {
  readonly api: Pick<ApiServer, 'store'>;
  readonly scheme: ExtensibleScheme;
  /** Where scale subresources are put; the server's own map. */
  readonly rest: Map<string, RestHandler>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Served {
  readonly revision: number;
  readonly crd: JsonObject;
  readonly kinds: readonly CustomKind[];
  readonly scales: readonly string[];
}

/** After the write of a definition failed; less and less often. */
const firstRetryMs = 500;
const longestRetryMs = 60_000;

export class CustomResources {
  readonly #config: CustomResourcesConfig;
  readonly #definitions: ResourceStore;
  #served = new Map<string, Served>();
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Ends of the watches of objects that finalizers hold, by definition. */
  readonly #waiting = new Map<string, () => void>();
  #cursor: WatchCursor;
  /** Passes in a row in which something could not be written. */
  #failures = 0;
  #cancelRetry: () => void = () => {};

  /** From now on what is defined is served. */
  constructor(config: CustomResourcesConfig) {
    this.#config = config;
    this.#definitions = config.api.store('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    this.#cursor = this.#watch();
    this.#changed();
    this.#cursor.onEvent(() => this.#listen());
  }

  /** Itself, when all that was seen is served and its status is written. */
  async settled(): Promise<this> {
    for (let last: unknown; last !== this.#work; ) {
      last = this.#work;
      await this.#work;
    }
    return this;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry();
    this.#cursor.close();
    for (const stop of this.#waiting.values()) stop();
  }

  #watch(): WatchCursor {
    const { cache } = this.#definitions;
    return cache.watch(cache.currentRevision(), '');
  }

  #listen(): void {
    let seen = false;
    try {
      while (this.#cursor.next() !== undefined) seen = true;
    } catch {
      // The ring has run past us: everything is read anew anyway.
      this.#cursor.close();
      this.#cursor = this.#watch();
      seen = true;
    }
    if (seen) this.#changed();
    if (!this.#isClosed) this.#cursor.onEvent(() => this.#listen());
  }

  #changed(): void {
    if (this.#isClosed) return;
    // What is known is served at once; what it takes to write follows in order.
    this.#read();
    this.#work = this.#work.then(() => this.#pass());
  }

  /** Reads all definitions; those that did not change keep their declarations. */
  #read(): void {
    const { rest, scheme } = this.#config;
    const next = new Map<string, Served>();
    const { items } = this.#definitions.cache.list({ namespace: '', limit: 0 });
    for (const { index, revision, value } of items) {
      const known = this.#served.get(index.name);
      if (known?.revision === revision) next.set(index.name, known);
      else {
        const crd = this.#definitions.served(value);
        next.set(index.name, { revision, crd, ...this.#declare(crd) });
      }
    }
    const scales = new Set([...next.values()].flatMap((s) => s.scales));
    for (const { scales: old } of this.#served.values())
      for (const key of old) if (!scales.has(key)) rest.delete(key);
    this.#served = next;
    scheme.setCustomKinds([...next.values()].flatMap((s) => s.kinds));
  }

  #declare(crd: JsonObject): Pick<Served, 'kinds' | 'scales'> {
    if (!isEstablished(crd)) return { kinds: [], scales: [] };
    const { log, rest, scheme } = this.#config;
    const kinds = objs(obj(crd['spec'])['versions'])
      .filter((version) => version['served'] === true)
      .flatMap((version) => {
        try {
          return [{ kind: customKind(crd, version, scheme), version }];
        } catch (error) {
          log.warn({ crd: nameOf(crd), error }, 'custom resource not served');
          return [];
        }
      });
    const scaled = kinds.flatMap(({ kind: { declaration }, version }) => {
      const scale = obj(version['subresources'])['scale'];
      return scale === undefined ? [] : [{ declaration, scale: obj(scale) }];
    });
    const [key] = scaled.map(({ declaration }) => restKey(declaration.group, declaration.resource, 'scale'));
    const byVersion = scaled.map(
      ({ declaration: { group, version }, scale }) => [`${group}/${version}`, scale] as const,
    );
    if (key !== undefined) rest.set(key, customScale(new Map(byVersion)));
    return { kinds: kinds.map(({ kind }) => kind), scales: key === undefined ? [] : [key] };
  }

  /** Writes what is due for each definition. */
  async #pass(): Promise<void> {
    if (this.#isClosed) return;
    this.#read();
    const { api, log } = this.#config;
    let failed = false;
    for (const { crd, kinds } of [...this.#served.values()])
      try {
        if (meta(crd)['deletionTimestamp'] === undefined) await this.#writeStatus(crd);
        else if (strs(meta(crd)['finalizers']).includes(cleanupFinalizer)) {
          const first = kinds[0]?.declaration;
          await this.#clearAway(crd, first && api.store(first.group, first.version, first.resource));
        }
      } catch (error) {
        if (isStatusError(error, 'NotFound')) continue;
        log.warn({ crd: nameOf(crd), error }, 'custom resource definition');
        failed = true;
      }
    this.#retryAfter(failed);
  }

  /** Nothing else may ever happen to a definition whose write failed. */
  #retryAfter(failed: boolean): void {
    this.#cancelRetry();
    const ms = Math.min(firstRetryMs * 2 ** this.#failures, longestRetryMs);
    this.#failures = failed ? this.#failures + 1 : 0;
    if (failed && !this.#isClosed) this.#cancelRetry = this.#config.clock.timer(ms, () => this.#changed());
  }

  async #writeStatus(crd: JsonObject): Promise<void> {
    const all = [...this.#served.values()].map((s) => s.crd);
    const now = rfc3339(this.#config.clock.now());
    if (definitionStatus(crd, takenNames(crd, all), now) === obj(crd['status'])) return;
    await this.#definitions.update(
      '',
      nameOf(crd),
      (current) => ({ ...current!, status: definitionStatus(current!, takenNames(current!, all), now) }),
      { subresource: 'status' },
    );
    this.#read();
  }

  /** Deletes the objects; when the last is gone, the definition may go. */
  async #clearAway(crd: JsonObject, store: ResourceStore | undefined): Promise<void> {
    const name = nameOf(crd);
    if (store !== undefined) {
      await deleteAll(store);
      if (store.cache.count() > 0) {
        this.#lookAgain(name, store);
        return;
      }
    }
    await this.#definitions.update('', name, (current) => {
      const metadata = ensure(current!, 'metadata');
      metadata['finalizers'] = strs(metadata['finalizers']).filter((f) => f !== cleanupFinalizer);
      return current!;
    });
    this.#read();
  }

  /** Finalizers hold some: when something changes. */
  #lookAgain(name: string, store: ResourceStore): void {
    if (this.#waiting.has(name)) return;
    const cursor = store.cache.watch(store.cache.currentRevision(), '');
    this.#waiting.set(name, () => cursor.close());
    cursor.onEvent(() => {
      this.#waiting.get(name)?.();
      this.#waiting.delete(name);
      this.#changed();
    });
  }
}

async function deleteAll(store: ResourceStore): Promise<void> {
  const { items } = store.cache.list({ namespace: '', limit: 0 });
  for (const { index } of items)
    await store.delete(index.namespace, index.name, {}).catch((error: unknown) => {
      if (!isStatusError(error, 'NotFound')) throw error;
    });
}
