// A stored definition without its schemas: all that the server has to know of it until somebody uses its kinds.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { readJson } from '../../apimachinery/serializer/json-numbers.ts';
import { endOfObject } from '../registry/object-end.ts';

/**
 * Within a string each quote has a backslash before it, so that this can't stand there. A member of this name that is an
 * object is a schema; what lies within one goes with it.
 */
const schemaMember = '"openAPIV3Schema":{';

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
