// Live objects out of a list, for unit tests of plugins.
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

interface AnyObject {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly [key: string]: unknown;
}

export interface FixedLiveObjects extends LiveObjects {
  put<T>(resource: ResourceRef<T>, object: T): void;
  remove(resource: ResourceRef, name: string, namespace?: string): void;
}

const valueAt = (object: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
      object,
    );

export function fixedLiveObjects(): FixedLiveObjects {
  const objects = new Map<string, AnyObject>();
  let version = 0;
  const prefix = (resource: ResourceRef): string => `${resource.group}/${resource.resource}/`;
  const key = (resource: ResourceRef, name: string, namespace = ''): string =>
    `${prefix(resource)}${namespace}/${name}`;
  const list: LiveObjects['list'] = <T>(
    resource: ResourceRef<T>,
    options: Parameters<LiveObjects['list']>[1] = {},
  ): readonly T[] =>
    [...objects]
      .filter(([k]) => k.startsWith(prefix(resource)))
      .map(([, object]) => object)
      .filter((o) => options.namespace === undefined || o.metadata?.namespace === options.namespace)
      .filter((o) => options.field === undefined || valueAt(o, options.field.name) === options.field.value)
      .map((o) => o as T);
  return {
    put(resource, object) {
      const { metadata } = object as AnyObject;
      objects.set(key(resource, metadata?.name ?? '', metadata?.namespace), object as AnyObject);
      version++;
    },
    remove(resource, name, namespace) {
      objects.delete(key(resource, name, namespace));
      version++;
    },
    get: <T>(resource: ResourceRef<T>, name: string, namespace?: string): T | undefined =>
      objects.get(key(resource, name, namespace)) as T | undefined,
    has: (resource, name, namespace) => objects.has(key(resource, name, namespace)),
    // Nothing is stored here.
    stored: () => undefined,
    storedMatching: () => [],
    list,
    summaries: (resource, namespace, make) => list(resource, { namespace }).map(make),
    count: ({ group, resource }, namespace) =>
      [...objects.keys()].filter((k) => k.startsWith(`${group}/${resource}/${namespace}/`)).length,
    version: () => version,
  };
}
