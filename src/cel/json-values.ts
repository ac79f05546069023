// JSON as values of CEL, adapted when it is selected, never copied: by a schema, or by what it is.
import { identicalJson } from '../apimachinery/equality.ts';
import type { Json, JsonObject } from '../apimachinery/json.ts';
import { isObject } from '../apimachinery/json-access.ts';
import { type CelType, dynType } from './cel-type.ts';
import { parseDuration } from './duration.ts';
import { equalValues } from './equality.ts';
import type { SchemaType } from './schema-type.ts';
import { parseDate, parseTimestamp } from './timestamp.ts';
import {
  CelError,
  CelList,
  CelMap,
  noSuchOverload,
  Opaque,
  runtimeType,
  type Value,
  ValueList,
} from './value.ts';
import { formatValue } from './value-text.ts';

/** From so many members on it is worth remembering how many they are. */
const manyMembers = 32;

/**
 * How many members objects have, of one value and all that is selected of it: counting them takes as long as they are many, and a loop asks
 * in each of its rounds. Not known for longer than that: objects change between two runs.
 */
class Sizes {
  #known: Map<JsonObject, number> | undefined;

  of(json: JsonObject): number {
    const known = this.#known?.get(json);
    if (known !== undefined) return known;
    const size = Object.keys(json).length;
    if (size > manyMembers) {
      this.#known ??= new Map();
      this.#known.set(json, size);
    }
    return size;
  }
}

/** As it is: objects are maps, whole numbers are ints. */
export const jsonValue = (json: Json | undefined): Value => plainValue(json, undefined);

function plainValue(json: Json | undefined, sizes: Sizes | undefined): Value {
  if (json === null || json === undefined) return null;
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object') return json;
  const shared = sizes ?? new Sizes();
  return Array.isArray(json) ? new JsonList(json, shared) : new JsonMap(json, shared);
}

class JsonList extends CelList {
  private readonly json: readonly Json[];
  private readonly sizes: Sizes;

  constructor(json: readonly Json[], sizes: Sizes) {
    super();
    this.json = json;
    this.sizes = sizes;
  }
  get size(): number {
    return this.json.length;
  }
  at(index: number): Value {
    return plainValue(this.json[index], this.sizes);
  }
}

class JsonMap extends CelMap {
  private readonly json: JsonObject;
  private readonly sizes: Sizes;

  constructor(json: JsonObject, sizes: Sizes) {
    super();
    this.json = json;
    this.sizes = sizes;
  }
  get size(): number {
    return this.sizes.of(this.json);
  }
  find(key: Value): Value | undefined {
    return typeof key === 'string' && Object.hasOwn(this.json, key)
      ? plainValue(this.json[key], this.sizes)
      : undefined;
  }
  keys(): Iterable<Value> {
    return Object.keys(this.json);
  }
  override equalTo(other: CelMap): boolean | undefined {
    return other instanceof JsonMap && other.json === this.json ? true : undefined;
  }
}

/** As the schema has it. What does not fit the schema is an error where it is selected. */
export const schemaValue = (json: Json | undefined, type: SchemaType): Value =>
  typedValue(json, type, undefined);

function typedValue(json: Json | undefined, type: SchemaType, sizes: Sizes | undefined): Value {
  if (json === null || json === undefined)
    return type.nullable ? null : new CelError('invalid data, got null for schema with nullable=false');
  switch (type.kind) {
    case 'object':
    case 'map':
      if (!isObject(json))
        return new CelError('invalid data, expected a map for the provided schema with type=object');
      return new SchemaMap(json, type, sizes ?? new Sizes());
    case 'list':
      if (!Array.isArray(json))
        return new CelError('invalid data, expected an array for the provided schema with type=array');
      return new SchemaList(json, type, sizes ?? new Sizes());
    case 'int-or-string':
      return typeof json === 'string' ? json : intOrString(json);
    case 'unknown':
      return new UnknownJson(json);
    default:
      return scalar(json, type);
  }
}

const goType = (json: Json): string => {
  if (Array.isArray(json)) return '[]interface {}';
  if (isObject(json)) return 'map[string]interface {}';
  if (typeof json === 'number') return Number.isSafeInteger(json) ? 'int64' : 'float64';
  return typeof json === 'boolean' ? 'bool' : typeof json === 'bigint' ? 'int64' : typeof json;
};

/** `Json` does not name a bigint: decoders make one of an int64 that no double holds. */
function wholeNumber(json: Json): bigint | undefined {
  if (typeof json === 'bigint') return json;
  return typeof json === 'number' && Number.isSafeInteger(json) ? BigInt(json) : undefined;
}
function intOrString(json: Json): Value {
  const whole = wholeNumber(json);
  return whole ?? new CelError('invalid data, expected XIntOrString value to be either a string or integer');
}

function scalar(json: Json, { type, format }: SchemaType): Value {
  switch (type.kind) {
    case 'bool':
      return typeof json === 'boolean' ? json : unexpected('bool', json);
    case 'double':
      return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : unexpected('float', json);
    case 'int':
      return wholeNumber(json) ?? unexpected('int', json);
    default:
      return typeof json === 'string' ? formatted(json, format) : unexpected('string', json);
  }
}
const unexpected = (wanted: string, json: Json): CelError =>
  new CelError(`invalid data, expected ${wanted}, got ${goType(json)}`);

function formatted(text: string, format: string): Value {
  switch (format) {
    case 'duration':
      return (
        parseDuration(text) ?? new CelError(`Invalid duration ${text}: time: invalid duration "${text}"`)
      );
    case 'date':
      return parseDate(text) ?? new CelError(`Invalid date formatted string ${text}`);
    case 'date-time': {
      // Lower case and a blank are taken, as the format's check takes them.
      const usual = text.toUpperCase().replace(' ', 'T');
      return parseTimestamp(usual) ?? new CelError(`Invalid date-time formatted string ${text}`);
    }
    case 'byte':
      return decodeBase64(text) ?? new CelError(`Invalid byte formatted string ${text}`);
    default:
      return text;
  }
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

class SchemaMap extends CelMap {
  private readonly json: JsonObject;
  private readonly schema: SchemaType;
  private readonly sizes: Sizes;

  constructor(json: JsonObject, schema: SchemaType, sizes: Sizes) {
    super();
    this.json = json;
    this.schema = schema;
    this.sizes = sizes;
  }
  get size(): number {
    return this.sizes.of(this.json);
  }
  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload;
    const { element, fields } = this.schema;
    if (element)
      return Object.hasOwn(this.json, key) ? typedValue(this.json[key], element, this.sizes) : undefined;
    const field = fields.get(key);
    if (!field || !Object.hasOwn(this.json, field.name)) return undefined;
    const json = this.json[field.name];
    // A field that is null is not there.
    return json === null || json === undefined ? undefined : typedValue(json, field.type, this.sizes);
  }
  *keys(): Generator<Value> {
    const { element, members } = this.schema;
    for (const key of Object.keys(this.json)) {
      if (element) yield key;
      else if (members.has(key)) yield members.get(key)!.written ?? key;
    }
  }
  override equalTo(other: CelMap): boolean | undefined {
    if (!(other instanceof SchemaMap)) return undefined;
    if (this.json === other.json) return true;
    for (const key of Object.keys(this.json)) {
      const name = this.schema.element ? key : this.schema.members.get(key)?.written;
      if (name === undefined) {
        // What the schema does not know is compared as it is.
        if (Object.hasOwn(other.json, key) && !identicalJson(this.json[key], other.json[key])) return false;
        continue;
      }
      const [mine, others] = [this.find(name), other.find(name)];
      if (mine === undefined || others === undefined) {
        if (mine !== others) return false;
      } else if (!equalValues(mine, others)) return false;
    }
    return true;
  }
}

/** Of a `set` or `map` list: its elements are what they are, in whatever order. */
type KeyOf = (element: Value) => string;
const textOfKey = (value: Value): string => `${runtimeType(value).name}:${formatValue(value)}`;
function keyOfElements({ listType, listKeys, element }: SchemaType): KeyOf | undefined {
  if (listType === 'set') return textOfKey;
  if (listType !== 'map') return undefined;
  const names = listKeys.map((key) => element!.members.get(key)?.written ?? key);
  return (value) =>
    JSON.stringify(
      names.map((name) => {
        const key = value instanceof CelMap ? value.find(name) : undefined;
        return key === undefined ? '' : textOfKey(key);
      }),
    );
}

abstract class MaybeKeyedList extends CelList {
  protected abstract readonly keyOf: KeyOf | undefined;

  override equalTo(other: CelList): boolean | undefined {
    const { keyOf } = this;
    if (!keyOf) return undefined;
    const mine = new Map([...this].map((element) => [keyOf(element), element]));
    for (const element of other) {
      const found = mine.get(keyOf(element));
      if (found === undefined || !equalValues(found, element)) return false;
    }
    return true;
  }
  /** An element with a key that is there already takes its place. */
  override concat(other: CelList): Value {
    const { keyOf } = this;
    if (!keyOf) return new ValueList([...this, ...other]);
    const all = new Map([...this].map((element) => [keyOf(element), element]));
    for (const element of other) all.set(keyOf(element), element);
    return new KeyedList([...all.values()], keyOf);
  }
}

class KeyedList extends MaybeKeyedList {
  protected readonly keyOf: KeyOf;
  private readonly values: readonly Value[];

  constructor(values: readonly Value[], keyOf: KeyOf) {
    super();
    this.values = values;
    this.keyOf = keyOf;
  }
  get size(): number {
    return this.values.length;
  }
  at(index: number): Value {
    return this.values[index]!;
  }
}

class SchemaList extends MaybeKeyedList {
  private readonly json: readonly Json[];
  private readonly schema: SchemaType;
  private readonly sizes: Sizes;

  constructor(json: readonly Json[], schema: SchemaType, sizes: Sizes) {
    super();
    this.json = json;
    this.schema = schema;
    this.sizes = sizes;
  }
  protected get keyOf(): KeyOf | undefined {
    return keyOfElements(this.schema);
  }
  get size(): number {
    return this.json.length;
  }
  at(index: number): Value {
    return typedValue(this.json[index], this.schema.element!, this.sizes);
  }
}

/** What a schema keeps without saying what it is. */
class UnknownJson extends Opaque {
  readonly type: CelType = dynType;
  private readonly json: Json;

  constructor(json: Json) {
    super();
    this.json = json;
  }
  equalTo(other: Value): boolean {
    return other instanceof UnknownJson && identicalJson(this.json, other.json);
  }
}
