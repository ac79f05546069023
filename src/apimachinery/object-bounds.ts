// How much one object may consist of. One thread works on it step by step: these bounds are what keeps the steps short.
import { StatusError } from './errors.ts';
import type { Json } from './json.ts';

/** Values of all depths. The largest definitions of custom resources have about half of it. */
export const maxValues = 100_000;
/** Members of one map: a map of very many is a hundred times dearer than as many small objects. */
export const maxMembers = 10_000;

const tooLarge = (what: string): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${what}`);
export const tooManyValues = (): StatusError =>
  tooLarge(`the limit is ${maxValues} values in one object; use several objects`);
export const tooManyMembers = (): StatusError =>
  tooLarge(`the limit is ${maxMembers} keys in one map; use several objects`);

/** Throws StatusError 413. For what was not read from a text that was counted: protobuf, the result of a patch. */
export function assertBounded(value: Json): void {
  const counter = { left: maxValues };
  count(value, counter);
}

function count(value: Json, counter: { left: number }): void {
  if (--counter.left < 0) throw tooManyValues();
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) count(item, counter);
    return;
  }
  let members = 0;
  for (const key in value) {
    if (++members > maxMembers) throw tooManyMembers();
    count(value[key]!, counter);
  }
}
