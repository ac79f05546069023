// Turns CustomResourceDefinitions into kinds of the running server, says so in their status, and clears away the
// objects of one that is deleted.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { ensure, meta, nameOf, obj, objs, strs } from '../../apimachinery/json-access.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
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

export interface CustomResources {
  /** Resolves when all that was seen is served and its status is written. */
  settled(): Promise<void>;
  close(): void;
}

interface Served {
  readonly revision: number;
  readonly crd: JsonObject;
  readonly kinds: readonly CustomKind[];
  readonly scales: readonly string[];
}

export function serveCustomResources(config: CustomResourcesConfig): CustomResources {
  const { api, scheme, rest, clock, log } = config;
  const definitions = api.store('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  let served = new Map<string, Served>();
  let work: Promise<void> = Promise.resolve();
  let closed = false;
  const waiting = new Map<string, () => void>();

  const declare = (crd: JsonObject): Pick<Served, 'kinds' | 'scales'> => {
    if (!isEstablished(crd)) return { kinds: [], scales: [] };
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
    const scales: string[] = [];
    for (const { kind, version } of kinds) {
      const scale = obj(version['subresources'])['scale'];
      if (scale === undefined) continue;
      const key = restKey(kind.declaration.group, kind.declaration.resource, 'scale');
      rest.set(key, customScale(obj(scale)));
      scales.push(key);
    }
    return { kinds: kinds.map(({ kind }) => kind), scales };
  };

  /** Reads all definitions; those that did not change keep their declarations. */
  const read = (): void => {
    const next = new Map<string, Served>();
    const { items } = definitions.cache.list({ namespace: '', limit: 0 });
    for (const { index, revision, value } of items) {
      const known = served.get(index.name);
      if (known?.revision === revision) next.set(index.name, known);
      else {
        const crd = definitions.served(value);
        next.set(index.name, { revision, crd, ...declare(crd) });
      }
    }
    const scales = new Set([...next.values()].flatMap((s) => s.scales));
    for (const { scales: old } of served.values())
      for (const key of old) if (!scales.has(key)) rest.delete(key);
    served = next;
    scheme.setCustomKinds([...next.values()].flatMap((s) => s.kinds));
  };

  const writeStatus = async (crd: JsonObject): Promise<void> => {
    const all = [...served.values()].map((s) => s.crd);
    const now = rfc3339(clock.now());
    if (definitionStatus(crd, takenNames(crd, all), now) === obj(crd['status'])) return;
    await definitions.update(
      '',
      nameOf(crd),
      (current) => ({ ...current!, status: definitionStatus(current!, takenNames(current!, all), now) }),
      { subresource: 'status' },
    );
    read();
  };

  /** Deletes the objects; when the last is gone, the definition may go. */
  const clearAway = async (crd: JsonObject, store: ResourceStore | undefined): Promise<void> => {
    const name = nameOf(crd);
    if (store !== undefined) {
      const { items } = store.cache.list({ namespace: '', limit: 0 });
      for (const { index } of items)
        await store.delete(index.namespace, index.name, {}).catch((error: unknown) => {
          if (!isStatusError(error, 'NotFound')) throw error;
        });
      if (store.cache.count() > 0) {
        if (waiting.has(name)) return;
        // Finalizers hold some: look again when something changes.
        const cursor = store.cache.watch(store.cache.currentRevision(), '');
        waiting.set(name, () => cursor.close());
        cursor.onEvent(() => {
          waiting.get(name)?.();
          waiting.delete(name);
          changed();
        });
        return;
      }
    }
    await definitions.update('', name, (current) => {
      const metadata = ensure(current!, 'metadata');
      metadata['finalizers'] = strs(metadata['finalizers']).filter((f) => f !== cleanupFinalizer);
      return current!;
    });
    read();
  };

  const pass = async (): Promise<void> => {
    if (closed) return;
    read();
    for (const { crd, kinds } of [...served.values()])
      try {
        if (meta(crd)['deletionTimestamp'] === undefined) await writeStatus(crd);
        else if (strs(meta(crd)['finalizers']).includes(cleanupFinalizer)) {
          const first = kinds[0]?.declaration;
          await clearAway(crd, first && api.store(first.group, first.version, first.resource));
        }
      } catch (error) {
        if (!isStatusError(error, 'NotFound'))
          log.warn({ crd: nameOf(crd), error }, 'custom resource definition');
      }
  };

  const changed = (): void => {
    if (closed) return;
    // What is known is served at once; what it takes to write follows in order.
    read();
    work = work.then(pass);
  };

  let cursor = definitions.cache.watch(definitions.cache.currentRevision(), '');
  const listen = (): void => {
    let seen = false;
    try {
      while (cursor.next() !== undefined) seen = true;
    } catch {
      // The ring has run past us: everything is read anew anyway.
      cursor.close();
      cursor = definitions.cache.watch(definitions.cache.currentRevision(), '');
      seen = true;
    }
    if (seen) changed();
    if (!closed) cursor.onEvent(listen);
  };
  changed();
  cursor.onEvent(listen);
  return {
    async settled() {
      for (let last: unknown; last !== work; ) {
        last = work;
        await work;
      }
    },
    close() {
      closed = true;
      cursor.close();
      for (const stop of waiting.values()) stop();
    },
  };
}
