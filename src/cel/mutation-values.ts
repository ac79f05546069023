// What mutating policies make: `Object{spec: Object.spec{...}}` and `JSONPatch{op: "add", ...}`, and both as JSON.
import type { Json, JsonObject } from '../apimachinery/json.ts';
import { int64Json } from '../apimachinery/serializer/json-numbers.ts';
import { put } from '../base/put.ts';
import { type CelType, dynType, listOf, stringType, structType } from './cel-type.ts';
import { formatDuration } from './duration.ts';
import type { TypeProvider } from './environment.ts';
import { equalValues } from './equality.ts';
import { formatTimestamp } from './timestamp.ts';
import { CelError, CelList, CelMap, Duration, runtimeType, Timestamp, Uint, type Value } from './value.ts';

const objectName = 'Object';
const patchName = 'JSONPatch';
const patchFields: Readonly<Record<string, CelType>> = {
  op: stringType,
  from: stringType,
  path: stringType,
  value: dynType,
};

/** What an expression gives that changes an object, by how it does. */
export const mutationResults: Readonly<Record<'applyConfiguration' | 'jsonPatch', CelType>> = {
  applyConfiguration: structType(objectName),
  jsonPatch: listOf(structType(patchName)),
};

/** An object that an expression made, with a type of a name. */
class MadeObject extends CelMap {
  private readonly fields: ReadonlyMap<string, Value>;
  private readonly named: CelType;

  constructor(name: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.named = structType(name);
    this.fields = fields;
  }
  override get type(): CelType {
    return this.named;
  }
  get size(): number {
    return this.fields.size;
  }
  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined;
  }
  keys(): Iterable<Value> {
    return this.fields.keys();
  }
  override equalTo(other: CelMap): boolean {
    if (!(other instanceof MadeObject) || other.named.name !== this.named.name) return false;
    return [...this.fields].every(([name, value]) => {
      const found = other.fields.get(name);
      return found !== undefined && equalValues(value, found);
    });
  }
}

const isObjectName = (name: string): boolean => name === objectName || name.startsWith(`${objectName}.`);

/** The types of mutating policies. A field of an object may have any name, and any value. */
export const mutationTypes: TypeProvider = {
  findType: (name) => (name === patchName || isObjectName(name) ? structType(name) : undefined),
  findField: (type, field) => {
    if (type !== patchName) return dynType;
    return Object.hasOwn(patchFields, field) ? patchFields[field] : undefined;
  },
  build: (name, fields) => {
    for (const [field, value] of fields)
      if (name === patchName && patchFields[field] === stringType && typeof value !== 'string')
        return new CelError(`unexpected type ${runtimeType(value).name} for JSONPatchType '${field}' field`);
    return new MadeObject(name, fields);
  },
};

/** What is wrong with the names of types within an object: each is the path of its field. */
export function typeNameFaults(value: Value, path: string = objectName): string[] {
  if (value instanceof CelList) return [...value].flatMap((element) => typeNameFaults(element, path));
  if (!(value instanceof CelMap)) return [];
  const isMade = value instanceof MadeObject;
  const { name } = value.type;
  const own =
    isMade && name !== path
      ? [
          `unexpected type name "${name}", expected "${path}", which matches field name path from root Object type`,
        ]
      : [];
  const within = [...value.keys()].flatMap((key) =>
    typeNameFaults(value.find(key)!, isMade ? `${path}.${String(key)}` : path),
  );
  return [...own, ...within];
}

/** An error for what JSON cannot have. */
export function valueJson(value: Value): Json | CelError {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number')
    return Number.isFinite(value) ? value : new CelError(`${value} is no JSON number`);
  if (typeof value === 'bigint') return int64Json(value);
  if (value instanceof Uint) return int64Json(value.value);
  if (value instanceof Uint8Array) return btoa(String.fromCharCode(...value));
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof CelList) return listJson(value);
  if (value instanceof CelMap) return mapJson(value);
  return value instanceof CelError ? value : new CelError(`${runtimeType(value).name} is no JSON value`);
}

function listJson(list: CelList): Json | CelError {
  const result: Json[] = [];
  for (const element of list) {
    const json = valueJson(element);
    if (json instanceof CelError) return json;
    result.push(json);
  }
  return result;
}

function mapJson(map: CelMap): Json | CelError {
  const result: JsonObject = {};
  for (const key of map.keys()) {
    if (typeof key !== 'string')
      return new CelError(`map key "${String(key)}" is of type ${runtimeType(key).name}, not string`);
    const json = valueJson(map.find(key)!);
    if (json instanceof CelError) return json;
    put(result, key, json);
  }
  return result;
}
