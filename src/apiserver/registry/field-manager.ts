// The registry's side of managedFields: who owns what is worked out by the field manager, if the server has one.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import type { Steps } from '../../base/turns.ts';

/** What ownership asks of a kind. */
export type TrackedKind = Pick<ResourceDeclaration, 'group' | 'version' | 'kind' | 'type' | 'hasStatus'> &
  Partial<
    Pick<ResourceDeclaration, 'resource' | 'custom' | 'strategy' | 'storage' | 'schemaSince' | 'ownedVersion'>
  >;

export interface FieldManagerRequest {
  readonly declaration: TrackedKind;
  /** undefined on create. */
  readonly live: JsonObject | undefined;
  readonly object: JsonObject;
  readonly manager: string;
  readonly subresource: string;
  /** RFC 3339 in seconds. */
  readonly now: string;
}

export interface FieldTracker {
  /** The object with its metadata.managedFields, for a create, update or patch. */
  update(request: FieldManagerRequest): Steps<JsonObject>;
  /** Server-side apply: the merged object, with managedFields. Throws StatusError 409 on conflicts. */
  apply(
    request: Omit<FieldManagerRequest, 'object'> & {
      readonly patch: JsonObject;
      readonly force: boolean;
    },
  ): Steps<JsonObject>;
}
