// An informer whose objects a test sets by hand.
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Informer, InformerHandler } from '../../src/client/cache/informer.ts';

export interface MemoryInformer<T> extends Informer<T> {
  put(object: T): void;
  remove(name: string, namespace?: string): void;
}

interface Named {
  readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined };
}

const keyOf = (name: string, namespace = ''): string => `${namespace}/${name}`;

export function createMemoryInformer<T extends Named>(
  resource: ResourceRef<T>,
  initial: readonly T[] = [],
): MemoryInformer<T> {
  const objects = new Map<string, T>();
  const handlers = new Set<InformerHandler<T>>();
  const indexes = new Map<string, (object: T) => readonly string[]>();
  const list = (namespace?: string): readonly T[] =>
    [...objects.values()].filter((o) => namespace === undefined || o.metadata.namespace === namespace);
  function put(object: T): void {
    const key = keyOf(object.metadata.name ?? '', object.metadata.namespace);
    const old = objects.get(key);
    objects.set(key, object);
    for (const handler of handlers)
      if (old === undefined) handler.added?.(object);
      else handler.updated?.(old, object);
  }
  for (const object of initial) put(object);
  return {
    resource,
    lister: {
      get: (name, namespace) => objects.get(keyOf(name, namespace)),
      list,
      byIndex: (name, value) => list().filter((object) => indexes.get(name)!(object).includes(value)),
    },
    hasSynced: () => true,
    synced: async () => undefined,
    addHandler: (handler) => {
      handlers.add(handler);
      for (const object of objects.values()) handler.added?.(object);
      return () => handlers.delete(handler);
    },
    addIndex: (name, values) => void indexes.set(name, values),
    put,
    remove: (name, namespace) => {
      const old = objects.get(keyOf(name, namespace));
      objects.delete(keyOf(name, namespace));
      if (old !== undefined) for (const handler of handlers) handler.deleted?.(old);
    },
  };
}
