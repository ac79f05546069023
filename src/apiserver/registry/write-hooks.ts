// What a kind does around the writes of the generic registry: allocate, undo, show more than is stored.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { RequestContext } from '../request-context.ts';

export interface HookContext {
  readonly context: RequestContext | undefined;
  readonly dryRun: boolean;
}

/** Each returns what undoes it when the write fails afterwards. */
export interface WriteHooks {
  /** After admission and prepareForCreate, before validation and storage; may set fields (clusterIP). */
  beforeCreate?(
    object: JsonObject,
    hook: HookContext,
  ): Promise<(() => void) | undefined> | (() => void) | undefined;
  beforeUpdate?(
    object: JsonObject,
    old: JsonObject,
    hook: HookContext,
  ): Promise<(() => void) | undefined> | (() => void) | undefined;
  /** After a write that changed the object. */
  afterUpdate?(object: JsonObject, old: JsonObject): void;
  /** After the object is gone. */
  afterDelete?(object: JsonObject): void;
  /** Decides what a read shows; undefined leaves it as it is. */
  decorate?(object: JsonObject): JsonObject | undefined;
}
