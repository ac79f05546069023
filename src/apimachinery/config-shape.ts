// Looks whether a configuration file has the fields of its kind, each of its type.
export type ConfigShape =
  | 'string'
  | 'number'
  | 'boolean'
  | 'object'
  | readonly [ConfigShape]
  | { readonly [field: string]: ConfigShape };

const typeName = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;

/** Throws for a value of a wrong type; answers fields that nobody knows. */
export function unknownFieldsOf(value: unknown, wanted: ConfigShape, path = ''): string[] {
  if (value === null || value === undefined) return [];
  const wrong = (type: string): never => {
    throw new Error(`failed decoding: ${path}: expected ${type}, got ${typeName(value)}`);
  };
  if (typeof wanted === 'string') return typeName(value) === wanted ? [] : wrong(wanted);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(value)) return wrong('array');
    return value.flatMap((item, i) => unknownFieldsOf(item, wanted[0] as ConfigShape, `${path}[${i}]`));
  }
  if (typeName(value) !== 'object') return wrong('object');
  const fields = wanted as { readonly [field: string]: ConfigShape };
  return Object.entries(value).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return Object.hasOwn(fields, name) ? unknownFieldsOf(field, fields[name]!, at) : [at];
  });
}
