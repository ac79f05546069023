// Reads of current objects for authentication, authorization and admission: synchronous, from the server's own caches.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { CachedObject, Predicate } from '../storage/watch/resource-cache.ts';

export interface LiveObjects {
  /** Never to be modified: the same object is handed to everybody. */
  get<T>(resource: ResourceRef<T>, name: string, namespace?: string): T | undefined;
  /** Whether it is there, be it unreadable. Nothing is parsed. */
  has(resource: ResourceRef, name: string, namespace: string): boolean;
  /** As they are stored, for whoever reads them in another way. Nothing is parsed. Throws StatusError 500 where one is there and can't be read. */
  stored(resource: ResourceRef, namespace: string, name: string): CachedObject | undefined;
  storedMatching(resource: ResourceRef, namespace: string, matches: Predicate): readonly CachedObject[];
  /** All objects of a namespace, or of all; `field` narrows by a selectable field. Never to be modified. */
  list<T>(
    resource: ResourceRef<T>,
    options?: {
      readonly namespace?: string;
      readonly field?: { readonly name: string; readonly value: string };
    },
  ): readonly T[];
  /**
   * What `make` says of each object of a namespace. It is asked once for each stored version, so it must be pure and the
   * same function each time: what is asked at each write must not parse ten thousand pods.
   */
  summaries<T, R>(resource: ResourceRef<T>, namespace: string, make: (object: T) => R): readonly R[];
  /** How many a namespace holds, whatever the version; undefined when it is not served. Nothing is parsed. */
  count(
    resource: { readonly group: string; readonly resource: string },
    namespace: string,
  ): number | undefined;
  /** Differs from an earlier answer when an object of the resource was written since. */
  version(resource: ResourceRef): number;
}
