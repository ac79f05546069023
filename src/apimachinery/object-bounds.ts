// How much one object may consist of. One thread works on it step by step: these bounds are what keeps the steps short.
import { StatusError } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject } from './json-access.ts';

/** Values of all depths. The largest definitions of custom resources have about half of it. */
const maxValues = 100_000;
/** What a text may hold: an object with the ownership of all its fields. */
export const maxTextValues: number = 2 * maxValues;
/** Members of one map: a map of very many is a hundred times dearer than as many small objects. */
const maxMembers = 10_000;
/** In a text it may be ownership of the elements of a list, each of which has some values. */
export const maxTextMembers: number = maxValues / 4;

const tooLarge = (what: string): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${what}`);
export const tooManyValues = (): StatusError =>
  tooLarge(`the limit is ${maxValues} values in one object; use several objects`);
export const tooManyMembers = (): StatusError =>
  tooLarge(`the limit is ${maxMembers} keys in one map; use several objects`);

/**
 * Throws StatusError 413. Ownership is counted by itself: the server adds to it, and what it has stored must be what it
 * takes again.
 */
export function assertBounded(object: JsonObject): void {
  const counter = { left: maxValues, members: maxMembers };
  let members = 0;
  for (const key in object) {
    if (++members > maxMembers) throw tooManyMembers();
    const value = object[key]!;
    if (key === 'metadata' && isObject(value)) {
      const { managedFields = null, ...metadata } = value;
      count(metadata, counter);
      count(managedFields, { left: maxValues, members: maxTextMembers });
    } else count(value, counter);
  }
}

interface Counter {
  left: number;
  /** Of one map. */
  readonly members: number;
}

function count(value: Json, counter: Counter): void {
  if (--counter.left < 0) throw tooManyValues();
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) count(item, counter);
    return;
  }
  let members = 0;
  for (const key in value) {
    if (++members > counter.members) throw tooManyMembers();
    count(value[key]!, counter);
  }
}
