// A structural schema as CEL sees it: types with fields under names that can be written, and how large values may be.
import type { Json } from '../apimachinery/json.ts';
import { arr, isObject, str } from '../apimachinery/json-access.ts';
import {
  isEmbedded,
  isIntOrString,
  isNullable,
  itemsOf,
  listKeysOf,
  listTypeOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from '../apimachinery/structural/structural-schema.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  structType,
  timestampType,
} from './cel-type.ts';
import type { TypeProvider } from './environment.ts';
import type { SizeHints } from './estimate.ts';
import { escapeFieldName, unescapeFieldName } from './field-names.ts';
import { isReservedWord } from './parser.ts';

export interface SchemaType {
  readonly type: CelType;
  readonly kind: 'object' | 'map' | 'list' | 'int-or-string' | 'scalar' | 'unknown';
  /** Of an object, by the names that expressions write. */
  readonly fields: ReadonlyMap<string, SchemaField>;
  /** Of an object, by the names that JSON has. */
  readonly members: ReadonlyMap<string, SchemaField>;
  /** Of a list, or of the values of a map. */
  readonly element: SchemaType | undefined;
  readonly format: string;
  readonly nullable: boolean;
  readonly listType: string;
  readonly listKeys: readonly string[];
  /** Characters, elements or entries: the most that there can be. */
  readonly maxElements: number;
  /** Bytes of the smallest value in JSON. */
  readonly minSerialized: number;
}
export interface SchemaField {
  /** In JSON. */
  readonly name: string;
  /** In expressions; undefined when it can't be written. */
  readonly written: string | undefined;
  readonly type: SchemaType;
  /** Expressions know the field. */
  readonly declared: boolean;
}

const maxRequest = 3 * 1024 * 1024;
const noFields: ReadonlyMap<string, SchemaField> = new Map();
const longestText = maxRequest - 2;

const base = {
  kind: 'scalar',
  fields: noFields,
  members: noFields,
  element: undefined,
  format: '',
  nullable: false,
  listType: '',
  listKeys: [],
  maxElements: 0,
  minSerialized: 1,
} as const;

/** What every object has, where the schema of a root or of an embedded resource does not say it. */
const text: StructuralSchema = { type: 'string' };
function withObjectFields(schema: StructuralSchema): StructuralSchema {
  const metadata = propertyOf(schema, 'metadata');
  const names = metadata && propertyOf(metadata, 'name') && propertyOf(metadata, 'generateName');
  if (names && propertyOf(schema, 'kind') && propertyOf(schema, 'apiVersion')) return schema;
  const own = { type: 'object', properties: { name: text, generateName: text } };
  return {
    ...schema,
    type: 'object',
    properties: { ...propertiesOf(schema), kind: text, apiVersion: text, metadata: own },
  };
}

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' ? Math.max(0, value) : undefined;

/** Types of objects are named after where they stand: `selfType.spec`. `isRoot`: it is the schema of a whole resource. */
export function schemaType(schema: StructuralSchema, name: string, isRoot: boolean = false): SchemaType {
  const whole = isRoot || isEmbedded(schema) ? withObjectFields(schema) : schema;
  const made = typeOfSchema(whole, name);
  return { ...made, nullable: isNullable(schema) };
}

function typeOfSchema(schema: StructuralSchema, name: string): SchemaType {
  if (isIntOrString(schema)) {
    const longest = count(schema['maxLength']);
    const maxElements = longest === undefined ? longestText : longest * 4;
    return { ...base, kind: 'int-or-string', type: dynType, maxElements };
  }
  switch (str(schema['type'])) {
    case 'array':
      return listSchema(schema, name);
    case 'object':
      return valuesOf(schema) && valuesOf(schema) !== true
        ? mapSchema(schema, name)
        : objectSchema(schema, name);
    case 'string':
      return textSchema(schema);
    case 'boolean':
      return { ...base, type: boolType, minSerialized: 4 };
    case 'number':
      return { ...base, type: doubleType };
    case 'integer':
      return { ...base, type: intType };
    default:
      // What a schema keeps without a type can be passed on and compared, no more.
      return { ...base, kind: 'unknown', type: dynType };
  }
}

function listSchema(schema: StructuralSchema, name: string): SchemaType {
  const items = itemsOf(schema);
  const element = items && schemaType(items, `${name}.@idx`);
  if (!element || element.kind === 'unknown') return { ...base, kind: 'unknown', type: dynType };
  const maxElements = count(schema['maxItems']) ?? Math.floor(longestText / (element.minSerialized + 1));
  return {
    ...base,
    kind: 'list',
    type: listOf(element.type),
    element,
    listType: listTypeOf(schema),
    listKeys: listKeysOf(schema),
    maxElements,
    minSerialized: 2,
  };
}

function mapSchema(schema: StructuralSchema, name: string): SchemaType {
  const element = schemaType(valuesOf(schema) as StructuralSchema, `${name}.@elem`);
  if (element.kind === 'unknown') return element;
  const maxElements = count(schema['maxProperties']) ?? Math.floor(longestText / (element.minSerialized + 6));
  const type = mapOf(stringType, element.type);
  return { ...base, kind: 'map', type, element, maxElements, minSerialized: 2 };
}

function objectSchema(schema: StructuralSchema, name: string): SchemaType {
  const required = new Set(arr(schema['required']));
  const fields = new Map<string, SchemaField>();
  const members = new Map<string, SchemaField>();
  let minSerialized = 2;
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    if (!isObject(property)) continue;
    const written = escapeFieldName(key);
    const type = schemaType(property, `${name}.${written ?? key}`);
    const field = { name: key, written, type, declared: type.kind !== 'unknown' };
    members.set(key, field);
    for (const one of namesOf(key, written)) fields.set(one, field);
    if (field.declared && required.has(key) && property['default'] === undefined)
      minSerialized += new TextEncoder().encode(key).length + type.minSerialized + 4;
  }
  return { ...base, kind: 'object', type: structType(name), fields, members, minSerialized };
}

/** Names under which a field is found: as it is written, and as it is where that can't mean another. */
function namesOf(key: string, written: string | undefined): Set<string> {
  const names = new Set<string>();
  if (written !== undefined) names.add(written);
  if (unescapeFieldName(key) === key) names.add(key);
  return names;
}

const formats: Readonly<Record<string, Pick<SchemaType, 'type' | 'maxElements' | 'minSerialized'>>> = {
  duration: { type: durationType, maxElements: 32, minSerialized: 3 },
  date: { type: timestampType, maxElements: 12, minSerialized: 12 },
  'date-time': { type: timestampType, maxElements: 32, minSerialized: 21 },
};

function textSchema(schema: StructuralSchema): SchemaType {
  const format = str(schema['format']);
  if (Object.hasOwn(formats, format)) return { ...base, ...formats[format]!, format };
  const longest = count(schema['maxLength']);
  const isBytes = format === 'byte';
  const maxElements = longest === undefined ? longestOf(schema, isBytes) : isBytes ? longest : longest * 4;
  return { ...base, type: isBytes ? bytesType : stringType, format, maxElements, minSerialized: 2 };
}

function longestOf(schema: StructuralSchema, isBytes: boolean): number {
  const allowed = arr(schema['enum']);
  if (isBytes || allowed.length === 0) return longestText;
  return Math.max(
    0,
    ...allowed.map((one) => (typeof one === 'string' ? new TextEncoder().encode(one).length : 0)),
  );
}

/** The types of objects in schemas, by their names. */
export function schemaTypeProvider(roots: readonly SchemaType[]): TypeProvider {
  const objects = new Map<string, SchemaType>();
  const collect = (type: SchemaType): void => {
    if (type.kind === 'object') objects.set(type.type.name, type);
    if (type.element) collect(type.element);
    for (const field of type.members.values()) collect(field.type);
  };
  roots.forEach(collect);
  return {
    findType: (name) => objects.get(name)?.type,
    findField: (typeName, field) => {
      const found = objects.get(typeName)?.fields.get(field);
      const isWritten = found?.written === field || isReservedWord(field);
      return found?.declared === true && isWritten ? found.type.type : undefined;
    },
  };
}

/** What the schema of the only variable says of sizes. A path begins with that variable's name. */
export const schemaSizeHints =
  (root: SchemaType): SizeHints =>
  ({ path }) => {
    if (path === undefined || path.length === 0) return undefined;
    let at: SchemaType | undefined = root;
    for (const name of path.slice(1)) {
      if (name === '@items' || name === '@values') at = at.element;
      else if (name === '@keys' && at.kind === 'map') at = textKeys;
      else {
        // Upstream finds a field only as it is to be written: `self.if` is known to be an int, and of its size nothing.
        const field: SchemaField | undefined = at.fields.get(name);
        at = field?.written === name ? field.type : undefined;
      }
      if (at === undefined) return undefined;
    }
    return { min: 0, max: at.maxElements };
  };
/** Keys are texts of which nothing is said. */
const textKeys: SchemaType = { ...base, type: stringType };
