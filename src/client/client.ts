// The Kubernetes client that every component uses: controllers, scheduler, agents, tests.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';

export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface ReadOptions extends ListOptions {
  /** Of each item its metadata alone, as PartialObjectMetadata. */
  readonly metadataOnly?: true;
}

export interface GetOptions {
  readonly subresource?: string;
  /** What other API servers are asked beside a name: selectors of metrics. */
  readonly query?: Readonly<Record<string, string>>;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export interface ObjectList<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: T[];
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | {
      readonly type: 'BOOKMARK';
      readonly object: {
        readonly metadata: {
          readonly resourceVersion: string;
          readonly annotations?: Record<string, string>;
        };
      };
    }
  | {
      readonly type: 'ERROR';
      readonly object: { readonly code?: number; readonly reason?: string; readonly message?: string };
    };

export interface WriteOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Nobody looks at the answer: it is not parsed, and there is none. */
  readonly unread?: true;
}

export type Answer<T, O extends WriteOptions> = O extends { readonly unread: true } ? undefined : T;

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'strategic'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: readonly unknown[] }
  | {
      readonly type: 'apply';
      readonly body: unknown;
      readonly fieldManager: string;
      readonly force?: boolean;
    };

/** What may be left out of an object that is to be created. */
export type Creatable<T> = Omit<T, 'metadata'> & { metadata?: object | undefined };

/**
 * Every method throws StatusError (apimachinery/errors) when the server refuses.
 * The namespace of a write is taken from the object's metadata.
 */
export interface Client {
  get<T>(resource: ResourceRef<T>, key: ObjectKey, options?: GetOptions): Promise<T>;
  list<T>(resource: ResourceRef<T>, options?: ReadOptions): Promise<ObjectList<T>>;
  create<T, O extends WriteOptions = WriteOptions>(
    resource: ResourceRef<T>,
    object: Creatable<T>,
    options?: O,
  ): Promise<Answer<T, O>>;
  update<T>(resource: ResourceRef<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T, O extends WriteOptions = WriteOptions>(
    resource: ResourceRef<T>,
    key: ObjectKey,
    patch: Patch,
    options?: O,
  ): Promise<Answer<T, O>>;
  delete<T>(resource: ResourceRef<T>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteCollection<T>(resource: ResourceRef<T>, options: ListOptions & DeleteOptions): Promise<void>;
  /** POST to a subresource: binding, eviction, token … */
  createSubresource<T>(
    resource: ResourceRef<T>,
    key: ObjectKey,
    subresource: string,
    body: unknown,
  ): Promise<unknown>;
  watch<T>(resource: ResourceRef<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Any path; for discovery, raw gets, review kinds. Throws StatusError on a status of 400 and up. */
  raw(request: {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
    readonly contentType?: string;
    readonly accept?: string;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly status: number; readonly body: Buffer }>;
}
