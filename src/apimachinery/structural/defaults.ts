// Sets the defaults of a structural schema, outer ones first, and drops nulls that may not be.
import type { Json, JsonObject } from '../json.ts';
import { isObject } from '../json-access.ts';
import {
  isNullable,
  itemsOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

/** In place. */
export function setDefaults(value: Json | undefined, schema: StructuralSchema): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const item of value) setDefaults(item, items);
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(propertiesOf(schema))) {
    const property = propertyOf(schema, name)!;
    const given = property['default'];
    if (given === undefined) continue;
    const now = Object.hasOwn(value, name) ? value[name] : undefined;
    if (now === undefined || (now === null && !isNullable(property)))
      put(value, name, structuredClone(given));
  }
  const values = valuesOf(schema);
  for (const name of Object.keys(value)) {
    const inner = propertyOf(schema, name) ?? (values === true ? undefined : values);
    if (inner) setDefaults(value[name], inner);
  }
}

/** Also for names such as `__proto__`, which a client may choose. */
const put = (object: JsonObject, name: string, value: Json): void => {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
};
