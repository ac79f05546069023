// What a kind does around the writes of the generic registry: allocate, undo, show more than is stored.
import type { JsonObject, Strategy } from '../../apimachinery/declaration.ts';
import type { RequestContext } from '../request-context.ts';

export interface HookContext {
  readonly context: RequestContext | undefined;
  readonly dryRun: boolean;
}

/** What takes back what a hook did, when the write fails afterwards. */
export type Undo = () => Promise<void>;

/** None of them may fail once the object is written. */
export interface WriteHooks {
  /** After admission and prepareForCreate, before validation and storage; may set fields (clusterIP). */
  beforeCreate?(object: JsonObject, hook: HookContext): Promise<Undo | undefined>;
  beforeUpdate?(object: JsonObject, old: JsonObject, hook: HookContext): Promise<Undo | undefined>;
  /** As those of a strategy, of a kind whose declaration can't load them. */
  readonly rules?: Strategy['rules'];
  /** After a write that changed the object, before it is answered. */
  afterUpdate?(object: JsonObject, old: JsonObject): Promise<void>;
  /** After the object is gone, before that is answered: what it held is another's at once. */
  afterDelete?(object: JsonObject): Promise<void>;
  /** Decides what a read shows; undefined leaves it as it is. */
  decorate?(object: JsonObject): JsonObject | undefined;
}
