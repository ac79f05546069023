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

type Default = readonly [property: string, given: Json];

/** Schemas never change, and are asked for each object: most have many properties and no default. */
const known = new WeakMap<StructuralSchema, readonly Default[]>();

function defaultsOf(schema: StructuralSchema): readonly Default[] {
  let found = known.get(schema);
  if (found === undefined) {
    found = Object.keys(propertiesOf(schema)).flatMap((name): Default[] => {
      const given = propertyOf(schema, name)?.['default'];
      return given === undefined ? [] : [[name, given]];
    });
    known.set(schema, found);
  }
  return found;
}

/** In place. As upstream, null stands for the default where it may not be, and goes where there is none. */
export function setDefaults(value: Json | undefined, schema: StructuralSchema): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items === undefined) return;
    for (const [i, item] of value.entries()) {
      if (item === null && !isNullable(items) && items['default'] !== undefined)
        value[i] = structuredClone(items['default']);
      setDefaults(value[i], items);
    }
    return;
  }
  if (!isObject(value)) return;
  for (const [name, given] of defaultsOf(schema))
    if (!Object.hasOwn(value, name) || value[name] === undefined) put(value, name, structuredClone(given));
  const values = valuesOf(schema);
  for (const name of Object.keys(value)) {
    const inner = propertyOf(schema, name) ?? (values === true ? undefined : values);
    if (inner === undefined) continue;
    if (value[name] !== null || isNullable(inner)) setDefaults(value[name], inner);
    else if (inner['default'] === undefined) delete value[name];
    else {
      put(value, name, structuredClone(inner['default']));
      setDefaults(value[name], inner);
    }
  }
}

/** Also for names such as `__proto__`, which a client may choose. */
const put = (object: JsonObject, name: string, value: Json): void => {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
};
