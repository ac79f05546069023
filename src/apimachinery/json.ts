// JSON values, and the schema data that describes them: the form of `src/api/schema/types.json`.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export type JsonObject = { [key: string]: Json | undefined };

/** Go's zero value of a string, a number or a bool. */
export const isZeroScalar = (value: Json | undefined): boolean =>
  value === '' || value === 0 || value === false;

/** One field of a type, in the form of `src/api/schema/types.json`. */
export interface FieldSchema {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly format?: string;
  /** Full name of another type: `io.k8s.api.core.v1.PodSpec`. */
  readonly ref?: string;
  readonly items?: FieldSchema;
  /** Value schema of a map. */
  readonly values?: FieldSchema;
  readonly enum?: readonly string[];
  readonly default?: Json;
  /** In Go a value and no pointer, and `omitempty`: nought, the empty text and false are left out. */
  readonly omitsZero?: true;
  /** In Go a pointer or a list without `omitempty`: nothing is written as null. */
  readonly servesNull?: true;
  readonly listType?: 'atomic' | 'map' | 'set';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Protobuf field number, type and label. */
  readonly proto?: readonly [number, string, 'optional' | 'repeated' | 'map' | 'required'];
}

export interface TypeSchema {
  readonly type?: string;
  readonly format?: string;
  readonly fields?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  /** Besides its fields it may have others, of which nothing is said. */
  readonly open?: boolean;
  readonly protoMessage?: string;
  readonly oneOf?: readonly { readonly type: string }[];
  readonly gvk?: readonly GroupVersionKind[];
  readonly unions?: readonly unknown[];
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}
