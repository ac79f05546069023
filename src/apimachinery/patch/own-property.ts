// Reading members of JSON objects of unknown origin: `__proto__` is a name like any other.
import type { Json, JsonObject } from '../declaration.ts';

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const own = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;
