// Types of CEL: what the checker works with, and what `type(x)` answers.

export type TypeKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'param'
  | 'uint';

const none: readonly CelType[] = Object.freeze([]);

export class CelType {
  readonly kind: TypeKind;
  /** As `string(type(x))` and upstream's messages at run time have it. */
  readonly name: string;
  readonly params: readonly CelType[];

  constructor(kind: TypeKind, name: string, params: readonly CelType[] = none) {
    this.kind = kind;
    this.name = name;
    this.params = params;
  }
}

export const boolType: CelType = new CelType('bool', 'bool');
export const bytesType: CelType = new CelType('bytes', 'bytes');
export const doubleType: CelType = new CelType('double', 'double');
export const durationType: CelType = new CelType('duration', 'google.protobuf.Duration');
export const dynType: CelType = new CelType('dyn', 'dyn');
export const errorType: CelType = new CelType('error', 'error');
export const intType: CelType = new CelType('int', 'int');
export const nullType: CelType = new CelType('null', 'null_type');
export const stringType: CelType = new CelType('string', 'string');
export const timestampType: CelType = new CelType('timestamp', 'google.protobuf.Timestamp');
export const typeType: CelType = new CelType('type', 'type');
export const uintType: CelType = new CelType('uint', 'uint');

export const listOf = (element: CelType): CelType => new CelType('list', 'list', [element]);
export const mapOf = (key: CelType, value: CelType): CelType => new CelType('map', 'map', [key, value]);
export const typeOf = (type: CelType): CelType => new CelType('type', 'type', [type]);
export const typeParam = (name: string): CelType => new CelType('param', name);
export const opaqueType = (name: string, ...params: CelType[]): CelType =>
  new CelType('opaque', name, params);
/** A type with fields that a type provider knows, or one of a library whose values only its functions know. */
export const structType = (name: string): CelType => new CelType('struct', name);
export const optionalOf = (value: CelType): CelType => opaqueType('optional_type', value);

/** What values of these types say of themselves at run time. */
export const listType: CelType = listOf(dynType);
export const mapType: CelType = mapOf(dynType, dynType);
export const optionalType: CelType = optionalOf(dynType);

/** Same kind, name and parameters all the way down; names of type parameters count only when `exact`. */
function agree(a: CelType, b: CelType, exact: boolean): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.params.length !== b.params.length) return false;
  if ((exact || a.kind !== 'param') && a.name !== b.name) return false;
  return a.params.every((param, i) => agree(param, b.params[i]!, exact));
}
export const isExactType = (a: CelType, b: CelType): boolean => agree(a, b, true);
export const isEquivalentType = (a: CelType, b: CelType): boolean => agree(a, b, false);

const shown: Partial<Readonly<Record<TypeKind, string>>> = {
  duration: 'duration',
  error: '!error!',
  null: 'null',
  timestamp: 'timestamp',
};

/** As messages of the checker name it. */
export function formatType(type: CelType): string {
  const fixed = shown[type.kind];
  if (fixed !== undefined) return fixed;
  if (type.params.length === 0) return type.name;
  return `${type.name}(${type.params.map(formatType).join(', ')})`;
}
