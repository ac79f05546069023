// A typed handle of a served resource: what a client needs to know to build its path.

/** `T` is the object type that the resource serves; it exists for the compiler only. */
export interface ResourceRef<T = unknown> {
  readonly group: string;
  readonly version: string;
  /** Plural name as in the path: `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly type?: T;
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf(ref: { readonly group: string; readonly version: string }): string {
  return ref.group === '' ? ref.version : `${ref.group}/${ref.version}`;
}
