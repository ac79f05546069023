// A kind of an OpenAPI document, v2 or v3, as types of src/api/schema/types.json. Pure.
import type {
  FieldSchema,
  GroupVersionKind,
  Json,
  JsonObject,
  TypeSchema,
} from '../../src/apimachinery/json.ts';
import { pascal } from './tree.ts';

const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';

export interface ImportedKind {
  readonly gvk: GroupVersionKind;
  /** By full name: the kind, its list, and what they name that is not known yet. */
  readonly types: ReadonlyMap<string, TypeSchema>;
  /** What types, and fields as `type.field`, are for, where the document says it. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** What the document demands beyond types: `spec.size: minimum`. It is for the kind's rules. */
  readonly rules: readonly string[];
}

/** Of OpenAPI's schema, what types.json has no word for. */
const ruleWords = [
  'anyOf',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'not',
  'oneOf',
  'pattern',
  'uniqueItems',
  'x-kubernetes-validations',
];

const object = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const own = <T>(name: string, value: T | undefined): object => (value === undefined ? {} : { [name]: value });

/** OpenAPI's word -> ours. */
const words: readonly (readonly [string, keyof FieldSchema])[] = [
  ['type', 'type'],
  ['format', 'format'],
  ['enum', 'enum'],
  ['default', 'default'],
  ['x-kubernetes-list-type', 'listType'],
  ['x-kubernetes-list-map-keys', 'listMapKeys'],
  ['x-kubernetes-map-type', 'mapType'],
  ['x-kubernetes-patch-strategy', 'patchStrategy'],
  ['x-kubernetes-patch-merge-key', 'patchMergeKey'],
];

const kindsOf = (schema: JsonObject): GroupVersionKind[] =>
  list(schema['x-kubernetes-group-version-kind']) as unknown as GroupVersionKind[];

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1);

/** Walks one document; what it comes by is kept. */
class Import {
  readonly types = new Map<string, TypeSchema>();
  readonly descriptions = new Map<string, string>();
  readonly rules: string[] = [];
  readonly #schemas: JsonObject;
  readonly #isKnown: (type: string) => boolean;

  constructor(schemas: JsonObject, isKnown: (type: string) => boolean) {
    this.#schemas = schemas;
    this.#isKnown = isKnown;
  }

  #refer(type: string): string {
    if (!this.#isKnown(type) && !this.types.has(type)) this.type(type, object(this.#schemas[type]));
    return type;
  }

  #describe(name: string, { description }: JsonObject): void {
    if (typeof description === 'string' && description.trim() !== '')
      this.descriptions.set(name, description);
  }

  /** An object that the document writes out in its place has no name there: it gets one of its parent and its field. */
  #field(schema: JsonObject, parent: string, path: string): FieldSchema {
    const all = list(schema.allOf).map(object);
    const $ref = schema.$ref ?? (all.length === 1 ? all[0]?.$ref : undefined);
    const rest = Object.assign({}, ...words.map(([from, to]) => own(to, schema[from]))) as FieldSchema;
    const { type: _, ...besideRef } = rest;
    if (typeof $ref === 'string') return { ref: this.#refer(nameOf($ref)), ...besideRef };
    if (schema['x-kubernetes-int-or-string'] === true) return { ref: intOrString, ...besideRef };
    for (const word of ruleWords) if (schema[word] !== undefined) this.rules.push(`${path}: ${word}`);
    if (schema.properties !== undefined) {
      const { mapType: __, ...placed } = besideRef;
      this.type(parent, schema, path);
      return { ref: parent, ...placed };
    }
    const { additionalProperties: values, items } = schema;
    return {
      ...rest,
      ...(items === undefined ? {} : { items: this.#field(object(items), `${parent}Item`, `${path}[]`) }),
      ...(typeof values === 'object' && values !== null
        ? { values: this.#field(object(values), `${parent}Value`, `${path}[*]`) }
        : {}),
    };
  }

  type(name: string, schema: JsonObject, path = ''): void {
    const fields: Record<string, FieldSchema> = {};
    const { properties, required } = schema;
    const gvk = kindsOf(schema);
    const type: TypeSchema = {
      ...own('type', schema.type),
      ...own('format', schema.format),
      ...(properties === undefined ? {} : { fields }),
      ...own('required', required),
      ...own('mapType', schema['x-kubernetes-map-type']),
      ...own('oneOf', schema.oneOf),
      ...(gvk.length === 0 ? {} : { gvk }),
    };
    this.types.set(name, type);
    this.#describe(name, schema);
    for (const [field, value] of Object.entries(object(properties)).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const at = path === '' ? field : `${path}.${field}`;
      this.#describe(`${name}.${field}`, object(value));
      fields[field] =
        gvk.length > 0 && field === 'metadata'
          ? {
              default: {},
              ref:
                metaTypes +
                (type.fields?.['items'] || gvk.some(({ kind }) => kind.endsWith('List'))
                  ? 'ListMeta'
                  : 'ObjectMeta'),
            }
          : this.#field(object(value), `${name}${pascal(field)}`, at);
    }
  }
}

/** Throws Error when the document has no such kind, or has it in several groups or versions. */
export function kindOfDocument(
  document: JsonObject,
  wanted: {
    readonly kind: string;
    readonly group?: string | undefined;
    readonly version?: string | undefined;
  },
  isKnown: (type: string) => boolean,
): ImportedKind {
  const schemas = object(document.definitions ?? object(document.components).schemas);
  const fits = (gvk: GroupVersionKind): boolean =>
    gvk.kind === wanted.kind &&
    (wanted.group ?? gvk.group) === gvk.group &&
    (wanted.version ?? gvk.version) === gvk.version;
  const found = Object.entries(schemas).flatMap(([name, schema]) =>
    kindsOf(object(schema))
      .filter(fits)
      .map((gvk) => ({ name, gvk })),
  );
  const [first, ...others] = found;
  if (first === undefined)
    throw new Error(`the document has no kind ${wanted.kind} of that group and version`);
  if (others.length > 0)
    throw new Error(
      `${wanted.kind} is in ${found.map(({ gvk }) => `${gvk.group}/${gvk.version}`).join(' and ')}: say --group and --version`,
    );
  const work = new Import(schemas, isKnown);
  work.type(first.name, object(schemas[first.name]));
  work.types.set(`${first.name}List`, listOf(first.name, first.gvk));
  const { types, descriptions, rules } = work;
  return { gvk: first.gvk, types, descriptions, rules };
}

export const listOf = (type: string, gvk: GroupVersionKind): TypeSchema => ({
  type: 'object',
  fields: {
    apiVersion: { type: 'string' },
    items: { items: { ref: type }, type: 'array' },
    kind: { type: 'string' },
    metadata: { default: {}, ref: `${metaTypes}ListMeta` },
  },
  required: ['items'],
  gvk: [{ ...gvk, kind: `${gvk.kind}List` }],
});
