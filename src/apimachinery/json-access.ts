// Reads values out of untyped JSON: each function answers an empty value where the shape is another.

import { put } from '../base/put.ts';
import type { Json, JsonObject } from './declaration.ts';

const emptyObject: JsonObject = Object.freeze({});
const emptyList: Json[] = [];
Object.freeze(emptyList);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object, or an empty frozen one. */
export const obj = (value: Json | undefined): JsonObject => (isObject(value) ? value : emptyObject);
/** The list, or an empty frozen one. */
export const arr = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : emptyList);
/** The objects of a list. */
export const objs = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
/** The strings of a list. */
export const strs = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((v) => typeof v === 'string') : [];
export const str = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
/** An int64 beyond 2^53 is rounded: it is compared here, and never written. */
export const num = (value: Json | undefined): number =>
  typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : 0;
export const bool = (value: Json | undefined): boolean => value === true;

export const meta = (object: JsonObject): JsonObject => obj(object['metadata']);
export const spec = (object: JsonObject): JsonObject => obj(object['spec']);
export const status = (object: JsonObject): JsonObject => obj(object['status']);
export const nameOf = (object: JsonObject): string => str(meta(object)['name']);
/** The object at `key`, made when missing. Keys come from code, never from input. */
export function ensure(object: JsonObject, key: string): JsonObject {
  const found = object[key];
  if (isObject(found)) return found;
  const made: JsonObject = {};
  object[key] = made;
  return made;
}

/** A copy that shares nothing. Objects of one kind have few shapes: many times as fast as structuredClone. */
export function copyJson<T extends Json | undefined>(value: T): T;
export function copyJson(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  const copy: JsonObject = {};
  for (const key in value) put(copy, key, copyJson(value[key]));
  return copy;
}
