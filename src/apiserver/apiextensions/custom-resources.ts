// Turns CustomResourceDefinitions into kinds of the running server, says so in their status, and clears away the
// objects of one that is deleted.

import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { ensure, meta, nameOf, num, obj, objs, str, strs } from '../../apimachinery/json-access.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import { Ending } from '../../base/ending.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { CachedObject, WatchCursor } from '../../storage/watch/resource-cache.ts';
import { type RestHandler, restKey } from '../registry/rest-storage.ts';
import type { ResourceStore } from '../registry/store.ts';
import type { WriteOptions } from '../registry/stored-resource.ts';
import type { ApiServer } from '../server.ts';
import { AcceptedNames } from './accepted-names.ts';
import { converterOf } from './conversion/converter-of.ts';
import type { ConversionDeps } from './conversion/webhook-converter.ts';
import { customKind } from './custom-kind.ts';
import type { RuleWatch } from './custom-rules.ts';
import { customScale } from './custom-scale.ts';
import { definitionOutline } from './definition-outline.ts';
import { cleanupFinalizer, definitionStatus, isEstablished, terminatingStatus } from './definition-status.ts';
import type { CustomKind, ExtensibleScheme } from './extensible-scheme.ts';
import { ruleMetrics } from './rule-metrics.ts';
import { SchemaTimes } from './schema-times.ts';

export interface CustomResourcesConfig {
  readonly api: Pick<ApiServer, 'store' | 'storeOf'>;
  readonly scheme: ExtensibleScheme;
  /** Where scale subresources are put; the server's own map. */
  readonly rest: Map<string, RestHandler>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly conversion: ConversionDeps;
}

interface Served {
  readonly revision: number;
  readonly kinds: readonly CustomKind[];
  readonly scales: readonly string[];
  /** What of the definition those who watch its objects depend on. */
  readonly form: string;
  readonly replaced: Ending;
  /** What of it the schemas of its objects depend on. */
  readonly schemas: string;
  readonly times: SchemaTimes;
}

const isBeingDeleted = (crd: JsonObject): boolean => meta(crd)['deletionTimestamp'] !== undefined;

/** As upstream: of what is written to a definition only another spec, or other names that it was given, ends watches. */
function formOf(crd: JsonObject): string {
  return JSON.stringify([schemasOf(crd), isEstablished(crd), obj(crd['status'])['acceptedNames']]);
}

/** Which spec of which definition it is. */
function schemasOf(crd: JsonObject): string {
  const { uid, generation } = meta(crd);
  return `${String(uid)}/${num(generation)}`;
}

const storedVersionOf = (crd: JsonObject): string =>
  str(objs(obj(crd['spec'])['versions']).find(({ storage }) => storage === true)?.['name']);

/** As upstream, where the server writes them as a client of itself. */
const statusWrite: Partial<WriteOptions> = { subresource: 'status', fieldManager: 'kube-apiserver' };

/** After the write of a definition failed; less and less often. */
const retryBackoff: Backoff = { firstMs: 500, longestMs: 60_000 };

/** Of every version of the definition: how it is scaled; undefined: not at all. */
const scalesOf = (crd: JsonObject): Map<string, JsonObject | undefined> =>
  new Map(
    objs(obj(crd['spec'])['versions']).map(({ name, subresources }) => {
      const { scale } = obj(subresources);
      return [`${str(obj(crd['spec'])['group'])}/${str(name)}`, scale === undefined ? undefined : obj(scale)];
    }),
  );

const failedReason = 'InstanceDeletionFailed';
const terminatingReason = (crd: JsonObject): string =>
  str(objs(obj(crd['status'])['conditions']).find(({ type }) => type === 'Terminating')?.['reason']);

/** Without a look at the object: for its index it would have to be read whole. */
const nameInKey = ({ key }: CachedObject): string => key.slice(key.lastIndexOf('/') + 1);

export class CustomResources {
  readonly #config: CustomResourcesConfig;
  readonly #definitions: ResourceStore;
  readonly #served = new Map<string, Served>();
  readonly #names: AcceptedNames;
  /** Definitions for which something may have to be written. */
  readonly #due = new Set<string>();
  /** Those whose write failed: they are tried again after a while, or when somebody else writes them. */
  readonly #resting = new Map<string, { readonly failures: number; readonly cancel: () => void }>();
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Ends of the watches of objects that finalizers hold, by definition. */
  readonly #waiting = new Map<string, () => void>();
  #cursor: WatchCursor;
  readonly #startRevision: number;
  readonly #watchOfRules: RuleWatch;

  /** From now on what is defined is served. */
  constructor(config: CustomResourcesConfig) {
    this.#config = config;
    this.#names = new AcceptedNames(config.scheme.resources().filter(({ custom }) => custom !== true));
    this.#definitions = config.api.store('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    const { clock, conversion } = config;
    this.#watchOfRules = { now: () => clock.monotonic(), metrics: ruleMetrics(conversion.metrics) };
    this.#startRevision = this.#definitions.cache.currentRevision();
    this.#cursor = this.#watch();
    this.#changed(this.#all());
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
    for (const { cancel } of this.#resting.values()) cancel();
    this.#cursor.close();
    for (const stop of this.#waiting.values()) stop();
  }

  #watch(): WatchCursor {
    const { cache } = this.#definitions;
    return cache.watch(cache.currentRevision(), '');
  }

  #statusOf(crd: JsonObject): JsonObject {
    return definitionStatus(crd, this.#names.takenFor(crd), rfc3339(this.#config.clock.now()));
  }

  /** All that are stored, and all that were. */
  #all(): Set<string> {
    const { items } = this.#definitions.cache.list({ namespace: '', limit: 0 });
    return new Set([...this.#served.keys(), ...items.map(nameInKey)]);
  }

  #listen(): void {
    let seen = new Set<string>();
    try {
      for (let event = this.#cursor.next(); event !== undefined; event = this.#cursor.next())
        seen.add(nameInKey(event.object));
    } catch {
      // The ring has run past us: everything is read anew.
      this.#cursor.close();
      this.#cursor = this.#watch();
      seen = this.#all();
    }
    if (seen.size > 0) this.#changed(seen);
    if (!this.#isClosed) this.#cursor.onEvent(() => this.#listen());
  }

  #changed(definitions: Iterable<string>): void {
    if (this.#isClosed) return;
    // What is known is served at once; what it takes to write follows in order.
    for (const name of definitions) this.#read(name);
    this.#work = this.#work.then(() => this.#pass());
  }

  /** Reads one definition; when it did not change it keeps its declarations. */
  #read(name: string): void {
    const { rest, scheme } = this.#config;
    const before = this.#served.get(name);
    const stored = this.#definitions.cache.get('', name);
    if (before?.revision === stored?.revision) return;
    let now: Served | undefined;
    let crd: JsonObject | undefined;
    if (stored !== undefined) {
      crd = definitionOutline(stored.value);
      const form = formOf(crd);
      const replaced = before?.form === form ? before.replaced : new Ending();
      const schemas = schemasOf(crd);
      const isOfBefore = before?.schemas.startsWith(`${str(meta(crd)['uid'])}/`) ?? true;
      if (!isOfBefore || isBeingDeleted(crd)) before?.times.clear();
      const times = before?.times ?? this.#timesOf(crd, stored);
      if (before !== undefined && before.schemas !== schemas)
        times.replace(stored.revision, storedVersionOf(crd));
      const said = { revision: stored.revision, form, replaced, schemas, times };
      now = { ...said, ...this.#declare(crd, stored, said) };
      this.#served.set(name, now);
    } else {
      before?.times.clear();
      this.#served.delete(name);
    }
    for (const key of before?.scales ?? []) if (!now?.scales.includes(key)) rest.delete(key);
    scheme.setCustomKinds(name, now?.kinds ?? []);
    // Who lists anew finds the new kinds.
    if (before !== undefined && before.replaced !== now?.replaced)
      before.replaced.end(this.#config.conversion.turns);
    for (const refused of this.#names.set(name, crd)) this.#due.add(refused);
    if (crd !== undefined && (isBeingDeleted(crd) || this.#statusOf(crd) !== crd['status']))
      this.#due.add(name);
  }

  /** Of one that is read for the first time. What was there before this server may be of one that wrote it in another way. */
  #timesOf(crd: JsonObject, { revision }: CachedObject): SchemaTimes {
    if (revision <= this.#startRevision) return new SchemaTimes(this.#startRevision, storedVersionOf(crd));
    return new SchemaTimes(num(meta(crd)['generation']) > 1 ? revision : 0, storedVersionOf(crd));
  }

  #declare(
    crd: JsonObject,
    stored: CachedObject,
    { replaced, times }: Pick<Served, 'replaced' | 'times'>,
  ): Pick<Served, 'kinds' | 'scales'> {
    if (!isEstablished(crd) || this.#names.isBuiltIn(crd)) return { kinds: [], scales: [] };
    const { log, rest, scheme } = this.#config;
    const convert = converterOf(crd, this.#config.conversion);
    const watch = this.#watchOfRules;
    const kinds = objs(obj(crd['spec'])['versions'])
      .filter((version) => version['served'] === true)
      .flatMap((version) => {
        try {
          const read = (): JsonObject => this.#definitions.served(stored.value);
          return [
            {
              kind: customKind({ crd, times, version, read, replaced, convert, watch }, scheme),
              version,
            },
          ];
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
    if (key !== undefined) rest.set(key, customScale(new Map(byVersion), scalesOf(crd)));
    return { kinds: kinds.map(({ kind }) => kind), scales: key === undefined ? [] : [key] };
  }

  /** Writes what is due. */
  async #pass(): Promise<void> {
    const { log } = this.#config;
    // What becomes due meanwhile is looked at as well.
    for (const name of this.#due) {
      if (this.#isClosed) return;
      this.#due.delete(name);
      const rested = this.#resting.get(name);
      rested?.cancel();
      try {
        await this.#write(name);
        this.#resting.delete(name);
      } catch (error) {
        this.#resting.delete(name);
        if (isStatusError(error, 'NotFound')) continue;
        log.warn({ crd: name, error }, 'custom resource definition');
        // Also when it is due by what was written before the failure: that would go round and round.
        this.#due.delete(name);
        this.#retryLater(name, (rested?.failures ?? 0) + 1);
      }
    }
  }

  /** Nothing else may ever happen to a definition whose write failed. Each waits for itself, however often others fail. */
  #retryLater(name: string, failures: number): void {
    if (this.#isClosed) return;
    const cancel = this.#config.clock.timer(backoffMs(retryBackoff, failures), () => {
      this.#due.add(name);
      this.#changed([]);
    });
    this.#resting.set(name, { failures, cancel });
  }

  async #write(name: string): Promise<void> {
    const crd = this.#definitions.find('', name);
    if (crd === undefined) return;
    if (!isBeingDeleted(crd)) await this.#writeStatus(crd);
    else if (strs(meta(crd)['finalizers']).includes(cleanupFinalizer))
      await this.#clearAway(crd, this.#storedObjects(crd));
  }

  /** Its objects as they are stored, whichever versions are served, and whoever would convert them. */
  #storedObjects(crd: JsonObject): ResourceStore | undefined {
    if (!isEstablished(crd) || this.#names.isBuiltIn(crd)) return undefined;
    const version = objs(obj(crd['spec'])['versions']).find(({ storage }) => storage === true);
    if (version === undefined) return undefined;
    const { api, scheme } = this.#config;
    const source = { crd, version, read: () => crd };
    const { conversion, remoteConversion, ...declaration } = customKind(source, scheme).declaration;
    return api.storeOf(declaration);
  }

  #writeInProgress(name: string): Promise<void> {
    return this.#writeTerminating(
      name,
      'InstanceDeletionInProgress',
      'CustomResource deletion is in progress',
    );
  }

  async #writeTerminating(name: string, reason: string, message: string): Promise<void> {
    const now = rfc3339(this.#config.clock.now());
    const written = await this.#definitions.update(
      '',
      name,
      (current) => ({ ...current!, status: terminatingStatus(current!, { reason, message, now }) }),
      statusWrite,
    );
    if (written.revision !== this.#served.get(name)?.revision) this.#read(name);
  }

  async #writeStatus(crd: JsonObject): Promise<void> {
    if (this.#statusOf(crd) === obj(crd['status'])) return;
    await this.#definitions.update(
      '',
      nameOf(crd),
      (current) => ({ ...current!, status: this.#statusOf(current!) }),
      statusWrite,
    );
    this.#read(nameOf(crd));
  }

  /** Deletes the objects; when the last is gone, the definition may go. */
  async #clearAway(crd: JsonObject, store: ResourceStore | undefined): Promise<void> {
    const name = nameOf(crd);
    if (store !== undefined) {
      // What stood in the way the time before is told until it does not any more.
      const hasFailed = terminatingReason(crd) === failedReason;
      if (!hasFailed) await this.#writeInProgress(name);
      try {
        await deleteAll(store);
      } catch (error) {
        const why = `could not issue all deletes: ${(error as Error).message}`;
        await this.#writeTerminating(name, failedReason, why);
        throw error;
      }
      if (hasFailed) await this.#writeInProgress(name);
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
    this.#read(name);
  }

  /** Finalizers hold some: when something changes. */
  #lookAgain(name: string, store: ResourceStore): void {
    if (this.#waiting.has(name)) return;
    const cursor = store.cache.watch(store.cache.currentRevision(), '');
    this.#waiting.set(name, () => cursor.close());
    cursor.onEvent(() => {
      this.#waiting.get(name)?.();
      this.#waiting.delete(name);
      this.#due.add(name);
      this.#changed([]);
    });
  }
}

/** So many share what a write waits for: one by one they fall behind whoever still writes the others. */
const deletedAtOnce = 16;

async function deleteAll(store: ResourceStore): Promise<void> {
  const { items } = store.cache.list({ namespace: '', limit: 0 });
  await fewAtOnce(items, deletedAtOnce, async ({ index }) => {
    await store.delete(index.namespace, index.name, {}).catch((error: unknown) => {
      if (!isStatusError(error, 'NotFound')) throw error;
    });
  });
}
