// How much one object may consist of. One thread works on it step by step: these bounds are what keeps the steps short.
import { badRequest, StatusError } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject } from './json-access.ts';

/** Deeper than any kind, and than any stack of ours could bear. */
export const maxJsonDepth = 500;

export interface ObjectBounds {
  /** Values of all depths. */
  readonly values: number;
  /** What a text may hold: an object with the ownership of all its fields. */
  readonly textValues: number;
  /** In one map of a text: it may be ownership of the elements of a list, each of which has some values. */
  readonly textMembers: number;
}

const boundsWith = (values: number): ObjectBounds => ({
  values,
  textValues: 2 * values,
  textMembers: values / 4,
});
/** An object of 1.5 MB, which is all that etcd takes, with a value every thirty bytes. */
const usual = boundsWith(50_000);
/** Administrators write these. The largest have half of it. */
export const definitionBounds: ObjectBounds = boundsWith(100_000);
/** Members of one map: a map of very many is a hundred times dearer than as many small objects. */
const maxMembers = 10_000;

export const boundsOf = (kind: string): ObjectBounds =>
  kind === 'CustomResourceDefinition' ? definitionBounds : usual;

const tooLarge = (what: string): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${what}`);
export const tooManyValues = ({ values }: ObjectBounds): StatusError =>
  tooLarge(`the limit is ${values} values in one object; use several objects`);
export const tooManyMembers = (): StatusError =>
  tooLarge(`the limit is ${maxMembers} keys in one map; use several objects`);

/**
 * Throws StatusError 413, and 400 for what is nested deeper than a body may be. Ownership is counted by itself: the server adds to it, and what it has stored must be what it
 * takes again.
 */
export function assertBounded(object: JsonObject, bounds: ObjectBounds): void {
  const counter = { bounds, left: bounds.values, members: maxMembers };
  let members = 0;
  for (const key in object) {
    if (++members > maxMembers) throw tooManyMembers();
    const value = object[key]!;
    if (key === 'metadata' && isObject(value)) {
      const { managedFields = null, ...metadata } = value;
      count(metadata, counter, 2);
      count(managedFields, { bounds, left: bounds.values, members: bounds.textMembers }, 3);
    } else count(value, counter, 2);
  }
}

interface Counter {
  readonly bounds: ObjectBounds;
  left: number;
  /** Of one map. */
  readonly members: number;
}

/** `depth`: of the value, where the object has 1. */
function count(value: Json, counter: Counter, depth: number): void {
  if (--counter.left < 0) throw tooManyValues(counter.bounds);
  if (typeof value !== 'object' || value === null) return;
  if (depth > maxJsonDepth) throw badRequest('json: exceeded max depth');
  if (Array.isArray(value)) {
    for (const item of value) count(item, counter, depth + 1);
    return;
  }
  let members = 0;
  for (const key in value) {
    if (++members > counter.members) throw tooManyMembers();
    count(value[key]!, counter, depth + 1);
  }
}
