// The compiled form of a type: a tree that decoding, protobuf and OpenAPI walk without look-ups by name.
import type { FieldSchema, Json, JsonObject } from './json.ts';

export type ScalarType = 'string' | 'int32' | 'int64' | 'bool' | 'float64';
export type SpecialType =
  | 'quantity'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'intOrString'
  | 'fieldsV1'
  | 'rawExtension'
  | 'json';

export interface FieldPlan {
  readonly name: string;
  readonly node: PlanNode;
  readonly schema: FieldSchema;
  readonly required: boolean;
  readonly omitsZero: boolean;
}
export interface StructPlan {
  readonly kind: 'struct';
  /** Full name in the schema. */
  readonly type: string;
  /** Go's short name: `PodSpec`. */
  readonly goName: string;
  readonly fields: ReadonlyMap<string, FieldPlan>;
  /** Fields with a static default and the value's JSON. */
  readonly defaults: readonly (readonly [string, Json, PlanNode])[];
  readonly required: readonly string[];
}
export type PlanNode =
  | StructPlan
  | { readonly kind: 'scalar'; readonly scalar: ScalarType; readonly enum?: readonly string[] | undefined }
  | { readonly kind: 'bytes' }
  | { readonly kind: 'special'; readonly special: SpecialType; readonly type: string }
  | { readonly kind: 'array'; readonly items: PlanNode }
  | { readonly kind: 'map'; readonly values: PlanNode }
  | { readonly kind: 'any' }
  /** A whole object that reads itself (a custom resource), in place; tells the paths of unknown fields. */
  | { readonly kind: 'own'; decode(object: JsonObject): readonly string[] };

export interface PlanSource {
  plan(type: string): PlanNode | undefined;
}
