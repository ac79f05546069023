// Parses JSON as the API server must: duplicate keys are seen, numbers are Go's, depth is bounded.

import { parseSteps } from '../../base/json-steps.ts';
import { maxShownPath, shownPath } from '../../base/shown-path.ts';
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json } from '../declaration.ts';
import {
  definitionBounds,
  maxJsonDepth,
  type ObjectBounds,
  tooManyMembers,
  tooManyValues,
} from '../object-bounds.ts';
import { DecodeError } from '../schema-errors.ts';
import { parseLongNumbers } from './json-numbers.ts';
import { syntaxError } from './json-syntax-error.ts';

export interface ParsedJson {
  readonly value: Json;
  /** Paths of keys that came twice; the last one counts. */
  readonly duplicateFields: readonly string[];
}

/** Throws DecodeError in Go's words, and StatusError 413 for a text of more values than an object and its ownership may have. */
export const parseJsonText = (
  text: string,
  bounds: ObjectBounds = definitionBounds,
  maxDepth: number = maxJsonDepth,
): ParsedJson => atOnce(parseJsonTextSteps(text, bounds, maxDepth));

/** The same in steps, for large texts. */
export function* parseJsonTextSteps(
  text: string,
  bounds: ObjectBounds = definitionBounds,
  maxDepth: number = maxJsonDepth,
): Steps<ParsedJson> {
  const scan = scanStructure(text);
  if (scan.depth > maxDepth) throw new DecodeError('exceeded max depth');
  if (scan.values > bounds.textValues) throw tooManyValues(bounds);
  if (scan.widest >= bounds.textMembers) throw tooManyMembers();
  yield;
  let value: Json;
  try {
    value = (yield* parseSteps(text, JSON.parse)) as Json;
  } catch {
    throw new DecodeError(syntaxError(text));
  }
  yield;
  const found = countMembers(value);
  // NaN: one of the numbers is beyond every double.
  if (scan.longNumber || Number.isNaN(found)) value = (yield* parseSteps(text, parseLongNumbers)) as Json;
  if (scan.members === found) return { value, duplicateFields: [] };
  yield;
  return { value, duplicateFields: duplicatePaths(text) };
}

interface Structure {
  /** Colons outside strings. */
  readonly members: number;
  /** Commas and openings outside strings. */
  readonly values: number;
  /** Commas of the map that has the most. */
  readonly widest: number;
  readonly depth: number;
  /** Whether a number is too long for a double. */
  readonly longNumber: boolean;
}

/** Commas of the maps that are open, by depth; of lists nobody asks. */
const widths = new Int32Array(maxJsonDepth + 1);
const ofList = -1_000_000_000;

/** One pass over the text, before anything is made of it. */
function scanStructure(text: string): Structure {
  let members = 0;
  let values = 0;
  let widest = 0;
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let longNumber = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) {
      i = endOfString(text, i);
      digits = 0;
    } else if (c >= 48 && c <= 57) {
      if (++digits > 15) longNumber = true;
    } else {
      digits = 0;
      if (c === 58) members++;
      else if (c === 44) {
        values++;
        if (depth > 0 && depth <= maxJsonDepth && ++widths[depth]! > widest) widest = widths[depth]!;
      } else if (c === 123 || c === 91) {
        values++;
        if (++depth > deepest) deepest = depth;
        if (depth > 0 && depth <= maxJsonDepth) widths[depth] = c === 123 ? 0 : ofList;
      } else if (c === 125 || c === 93) depth--;
    }
  }
  return { members, values, widest, depth: deepest, longNumber };
}

/** Index of the closing quote of the string that opens at `open`. */
function endOfString(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at > 0) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}

function countMembers(value: Json): number {
  if (typeof value !== 'object' || value === null)
    return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? Number.NaN : 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countMembers(item);
  else for (const key in value) count += 1 + countMembers(value[key]!);
  return count;
}

/** As upstream's strict decoder: nobody reads more of them, and whoever sends them must not cost more. */
const maxDuplicates = 100;

/** The slow way, for texts that are known to hold a duplicate. */
function duplicatePaths(text: string): string[] {
  const found: string[] = [];
  eachKey(text, (path, again) => {
    if (again) found.push(shownPath(path));
    return found.length < maxDuplicates;
  });
  return found;
}

export interface FoundField {
  readonly path: string;
  readonly isUnknown: boolean;
}

/** As one who reads strictly comes upon them: a field that is unknown is told once, and what is in it is not looked at. */
export function inTextOrder(
  text: string,
  duplicates: readonly string[],
  unknown: readonly string[],
): readonly FoundField[] {
  const strange = new Set(unknown);
  const told: FoundField[] = [];
  const isWithin = (path: string): boolean =>
    unknown.some((outer) => path.startsWith(outer) && ['.', '[', undefined].includes(path[outer.length]));
  eachKey(text, (path, again) => {
    // To look one of a megabyte up would cost as much, for each key that is in it.
    if (path.length > maxShownPath) return true;
    if (strange.delete(path)) told.push({ path, isUnknown: true });
    else if (again && !isWithin(path)) told.push({ path, isUnknown: false });
    return told.length < maxDuplicates;
  });
  for (const path of duplicates) if (path.length > maxShownPath) told.push({ path, isUnknown: false });
  for (const path of strange) told.push({ path, isUnknown: true });
  return told;
}

/** A reader of keys only. `visit` is told of each, and whether it came again for the first time; false ends it. */
function eachKey(text: string, visit: (path: string, again: boolean) => boolean): void {
  let at = 0;
  let isOver = false;
  const space = (): void => {
    while (at < text.length && text.charCodeAt(at) <= 32) at++;
  };
  const string = (): string => {
    const end = endOfString(text, at);
    const raw = text.slice(at, end + 1);
    at = end + 1;
    return JSON.parse(raw) as string;
  };
  const value = (path: string): void => {
    space();
    const c = text[at];
    if (c === '{') members(path);
    else if (c === '[') items(path);
    else if (c === '"') at = endOfString(text, at) + 1;
    else while (at < text.length && !',]}'.includes(text[at]!)) at++;
    space();
  };
  const members = (path: string): void => {
    /** True once the key is reported. */
    const seen = new Map<string, boolean>();
    at++;
    for (space(); text[at] !== '}'; space()) {
      const key = string();
      const here = path === '' ? key : `${path}.${key}`;
      const before = seen.get(key);
      if (!visit(here, before === false)) {
        isOver = true;
        return;
      }
      seen.set(key, before !== undefined);
      space();
      at++;
      value(here);
      if (isOver) return;
      if (text[at] === ',') at++;
    }
    at++;
  };
  const items = (path: string): void => {
    at++;
    space();
    for (let i = 0; text[at] !== ']'; i++) {
      value(`${path}[${i}]`);
      if (isOver) return;
      if (text[at] === ',') at++;
    }
    at++;
  };
  value('');
}
