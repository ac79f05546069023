// When two values are the same: three rules, each where upstream has it.
import type { Json, JsonObject } from './json.ts';
import { own } from './patch/own-property.ts';

/** Deep equality of JSON; absent, null and undefined members are the same. */
export function jsonEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null);
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((v, i) => jsonEqual(v, b[i]));
  }
  for (const key of Object.keys(a))
    if (!jsonEqual(a[key], Object.hasOwn(b, key) ? b[key] : undefined)) return false;
  for (const key of Object.keys(b))
    if (!Object.hasOwn(a, key) && b[key] !== undefined && b[key] !== null) return false;
  return true;
}

/** As upstream's apiequality.Semantic: also empty lists and maps equal absent ones. */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNothing(a) && isNothing(b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((v, i) => semanticEqual(v, b[i]));
  }
  const [left, right] = [a as JsonObject, b as JsonObject];
  for (const key in left) if (!semanticEqual(left[key], own(right, key))) return false;
  for (const key in right) if (!Object.hasOwn(left, key) && !isNothing(right[key])) return false;
  return true;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  for (const key in value) if ((value as JsonObject)[key] !== undefined) return false;
  return true;
}

/** Member by member: null is a value like any other, and only what is not there is absent. */
export function identicalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a === undefined || b === undefined) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!identicalJson(a[i], b[i])) return false;
    return true;
  }
  let count = 0;
  for (const key in a) {
    if (a[key] === undefined) continue;
    count++;
    if (!Object.hasOwn(b, key) || !identicalJson(a[key], b[key])) return false;
  }
  for (const key in b) if (b[key] !== undefined) count--;
  return count === 0;
}
