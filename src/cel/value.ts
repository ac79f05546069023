// Values of CEL. bool, string and null are JavaScript's own, int is a bigint, double is a number; the rest are small classes.
import {
  boolType,
  bytesType,
  CelType,
  doubleType,
  durationType,
  errorType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from './cel-type.ts';

export type Value =
  | null
  | boolean
  | string
  | bigint
  | number
  | Uint
  | Uint8Array
  | Timestamp
  | Duration
  | Optional
  | CelType
  | CelList
  | CelMap
  | Opaque
  | CelError;

/** A failure of evaluation. It is a value, not an exception: `||`, `&&` and `?:` may absorb it. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}
export const noSuchOverload: CelError = new CelError('no such overload');

/** An uint64. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** An instant, with the zone in which it was written: `string()` shows it there. */
export class Timestamp {
  /** Since 1970. */
  readonly seconds: number;
  readonly nanos: number;
  /** Seconds east of UTC. */
  readonly offset: number;

  constructor(seconds: number, nanos: number, offset: number = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.offset = offset;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Optional {
  static readonly none: Optional = new Optional(undefined);
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A list. Elements may be adapted when they are asked for. */
export abstract class CelList {
  abstract readonly size: number;
  /** `index` is within bounds. */
  abstract at(index: number): Value;
  /** What `+` gives. */
  concat(other: CelList): Value {
    if (this.size === 0) return other;
    return other.size === 0 ? this : new ValueList([...this, ...other]);
  }
  /** undefined: as any two lists, element by element. */
  equalTo(_other: CelList): boolean | undefined {
    return undefined;
  }
  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.at(i);
  }
}

export class ValueList extends CelList {
  readonly values: readonly Value[];

  constructor(values: readonly Value[]) {
    super();
    this.values = values;
  }
  get size(): number {
    return this.values.length;
  }
  at(index: number): Value {
    return this.values[index]!;
  }
}

/** A map. Values may be adapted when they are asked for; keys are bool, int, uint and string. */
export abstract class CelMap {
  abstract readonly size: number;
  /** undefined where there is no such key; a CelError where the key is none. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
  /** undefined: as any two maps, entry by entry. */
  equalTo(_other: CelMap): boolean | undefined {
    return undefined;
  }
  get type(): CelType {
    return mapType;
  }
}

/** One that the program made. Numbers that are equal are one key, whatever their types. */
export class ValueMap extends CelMap {
  private readonly entries: ReadonlyMap<string | bigint | boolean, readonly [key: Value, value: Value]>;

  constructor(entries: ReadonlyMap<string | bigint | boolean, readonly [key: Value, value: Value]>) {
    super();
    this.entries = entries;
  }
  static of(pairs: Iterable<readonly [Value, Value]>): ValueMap {
    const entries = new Map<string | bigint | boolean, readonly [Value, Value]>();
    for (const [key, value] of pairs) entries.set(mapKey(key)!, [key, value]);
    return new ValueMap(entries);
  }
  get size(): number {
    return this.entries.size;
  }
  find(key: Value): Value | undefined {
    const plain = mapKey(key);
    return plain === undefined ? undefined : this.entries.get(plain)?.[1];
  }
  *keys(): Generator<Value> {
    for (const [key] of this.entries.values()) yield key;
  }
}

/** What a key is looked up by: a whole double and an uint are looked up as the int they equal. */
export function mapKey(key: Value): string | bigint | boolean | undefined {
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key;
  if (key instanceof Uint) return key.value;
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : undefined;
}

/** A value that only functions of a library look into. */
export abstract class Opaque {
  abstract readonly type: CelType;
  abstract equalTo(other: Value): boolean;
  /** What costs count. */
  get size(): number {
    return 1;
  }
}

/** The type that a value has at run time. */
export function runtimeType(value: Value): CelType {
  switch (typeof value) {
    case 'string':
      return stringType;
    case 'bigint':
      return intType;
    case 'boolean':
      return boolType;
    case 'number':
      return doubleType;
  }
  if (value === null) return nullType;
  if (value instanceof CelList) return listType;
  if (value instanceof CelMap) return value.type;
  if (value instanceof Uint) return uintType;
  if (value instanceof Uint8Array) return bytesType;
  if (value instanceof Timestamp) return timestampType;
  if (value instanceof Duration) return durationType;
  if (value instanceof Optional) return optionalType;
  if (value instanceof CelType) return typeType;
  return value instanceof CelError ? errorType : value.type;
}

/** Characters as CEL counts them. */
export function codePointCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++)
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  return count;
}

/** What costs count: characters, bytes, elements, entries; 1 for all else. */
export function valueSize(value: Value): number {
  if (typeof value === 'string') return codePointCount(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelList || value instanceof CelMap || value instanceof Opaque) return value.size;
  return value instanceof Optional && value.value !== undefined ? valueSize(value.value) : 1;
}
