// A local, always fresh copy of one resource, shared by every component in the process (client-go's SharedInformer).
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { ReflectorSink } from './reflector.ts';

export interface InformerHandler<T> {
  added?(object: T): void;
  updated?(old: T, object: T): void;
  /** The last known state. */
  deleted?(object: T): void;
}

/** Objects are everybody's: copy before you change. Tests freeze them. */
export interface Lister<T> {
  get(name: string, namespace?: string): T | undefined;
  list(namespace?: string): readonly T[];
  /** Objects whose index `name` (see addIndex) has `value`. */
  byIndex(name: string, value: string): readonly T[];
}

export interface Informer<T> {
  readonly resource: ResourceRef<T>;
  readonly lister: Lister<T>;
  hasSynced(): boolean;
  /** Resolves once the first list is in the store and was handed to the handlers. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Existing objects are replayed as added. Returns a function that removes the handler. */
  addHandler(handler: InformerHandler<T>): () => void;
  /** Before start. `values` names the index values of an object. */
  addIndex(name: string, values: (object: T) => readonly string[]): void;
}

/** What every object has. */
export interface MetadataOnly {
  readonly metadata: ObjectMeta;
}

export interface InformerFactory {
  /** One informer for each (resource, options); started by `start`. */
  informer<T>(
    resource: ResourceRef<T>,
    options?: {
      readonly namespace?: string;
      readonly fieldSelector?: string;
      readonly labelSelector?: string;
    },
  ): Informer<T>;
  /** Tells `sink` what there is, of that the metadata alone, and what changes, until `signal` is aborted; nothing is kept. */
  follow(resource: ResourceRef, sink: ReflectorSink<MetadataOnly>, signal: AbortSignal): Promise<void>;
  /** Starts all informers asked for so far; may be called again. */
  start(): void;
  waitForSync(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}
