// A value and what it was before the update, as far as the schema tells which belongs to which. What did not change may stay
// as wrong as it was.
import { identicalJson } from '../equality.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject } from '../json-access.ts';
import {
  itemsOf,
  listKeysOf,
  listTypeOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

/** Of an element of a list that is a map; undefined where it has no key that can be compared. */
function keyOf(item: Json | undefined, names: readonly string[]): string | undefined {
  if (!isObject(item)) return undefined;
  const keys: string[] = [];
  for (const name of names) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined;
    if (value === undefined || value === null || typeof value === 'object') return undefined;
    keys.push(typeof value === 'string' ? JSON.stringify(value) : String(value));
  }
  return keys.join(',');
}

/** Finds old elements of lists; those of lists that are no maps belong to nothing. The first of a key counts. */
export function oldItems(
  schema: StructuralSchema,
  old: Json | undefined,
): (item: Json | undefined) => JsonObject | undefined {
  const names = listKeysOf(schema);
  if (listTypeOf(schema) !== 'map' || names.length === 0 || !Array.isArray(old)) return () => undefined;
  let known: Map<string, JsonObject> | undefined;
  return (item) => {
    if (known === undefined) {
      known = new Map();
      for (const one of old) {
        const key = keyOf(one, names);
        if (key !== undefined && isObject(one) && !known.has(key)) known.set(key, one);
      }
    }
    const key = keyOf(item, names);
    return key === undefined ? undefined : known.get(key);
  };
}

/** Adds up what comparisons take. */
export interface Stopwatch {
  /** In milliseconds. */
  readonly now: () => number;
  spentMs: number;
  /** A comparison is made of others. */
  isRunning: boolean;
}

export class Correlated {
  readonly value: Json;
  readonly old: Json;
  readonly schema: StructuralSchema;
  readonly #children = new Map<string | number, Correlated>();
  #oldItems: ReturnType<typeof oldItems> | undefined;
  #isEqual: boolean | undefined;
  readonly #watch: Stopwatch | undefined;

  constructor(value: Json, old: Json, schema: StructuralSchema, watch?: Stopwatch) {
    this.value = value;
    this.old = old;
    this.schema = schema;
    this.#watch = watch;
  }

  /** undefined: it is not there, it was not, or nothing is known of it. */
  key(name: string): Correlated | undefined {
    const known = this.#children.get(name);
    if (known !== undefined) return known;
    if (!isObject(this.value) || !isObject(this.old)) return undefined;
    if (!Object.hasOwn(this.value, name) || !Object.hasOwn(this.old, name)) return undefined;
    const values = valuesOf(this.schema);
    const schema = propertyOf(this.schema, name) ?? (isObject(values) ? values : undefined);
    return schema && this.#child(name, this.value[name]!, this.old[name]!, schema);
  }

  index(i: number): Correlated | undefined {
    const known = this.#children.get(i);
    if (known !== undefined) return known;
    const items = itemsOf(this.schema);
    if (!Array.isArray(this.value) || !Array.isArray(this.old) || items === undefined) return undefined;
    this.#oldItems ??= oldItems(this.schema, this.old);
    const old = this.#oldItems(this.value[i]);
    return old && this.#child(i, this.value[i]!, old, items);
  }

  #child(key: string | number, value: Json, old: Json, schema: StructuralSchema): Correlated {
    const child = new Correlated(value, old, schema, this.#watch);
    this.#children.set(key, child);
    return child;
  }

  /** As upstream, an object with a field of which the schema says nothing is never. */
  get isEqual(): boolean {
    this.#isEqual ??= this.#timed();
    return this.#isEqual;
  }

  #timed(): boolean {
    const watch = this.#watch;
    if (watch === undefined || watch.isRunning) return this.#compare();
    const began = watch.now();
    watch.isRunning = true;
    try {
      return this.#compare();
    } finally {
      watch.isRunning = false;
      watch.spentMs += watch.now() - began;
    }
  }

  #compare(): boolean {
    const { value, old, schema } = this;
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || value.length !== old.length) return false;
      if (listTypeOf(schema) !== 'map' || listKeysOf(schema).length === 0) return identicalJson(value, old);
      return value.every((_, i) => this.index(i)?.isEqual === true);
    }
    if (isObject(value)) {
      if (!isObject(old)) return false;
      const names = Object.keys(value);
      return (
        names.length === Object.keys(old).length && names.every((name) => this.key(name)?.isEqual === true)
      );
    }
    return identicalJson(value, old);
  }
}
