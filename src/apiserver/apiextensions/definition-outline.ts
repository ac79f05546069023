// A stored definition without its schemas: all that the server has to know of it until somebody uses its kinds.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { readJson } from '../../apimachinery/serializer/json-numbers.ts';

/**
 * Within a string each quote has a backslash before it, so that this can't stand there. A member of this name that is an
 * object is a schema; what lies within one goes with it.
 */
const schemaMember = '"openAPIV3Schema":{';

const quote = 0x22;
const backslash = 0x5c;
const open = 0x7b;
const close = 0x7d;

/** As `JSON.parse` of the definition, but that its schemas are empty. They are most of it, and to read them costs three times as much. */
export function definitionOutline(value: Buffer): JsonObject {
  const text = value.toString();
  let outline = '';
  let from = 0;
  for (;;) {
    const at = text.indexOf(schemaMember, from);
    if (at < 0) return readJson(outline + text.slice(from)) as JsonObject;
    const begin = at + schemaMember.length;
    outline += text.slice(from, begin);
    from = endOfObject(text, begin);
  }
}

/** Where the brace stands that closes the object that is open at `at`. */
function endOfObject(text: string, at: number): number {
  let depth = 1;
  for (let i = at; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if (c === open) depth++;
    else if (c === close && --depth === 0) return i;
  }
  return text.length;
}

function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}
