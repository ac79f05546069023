// One served version of a CustomResourceDefinition as a declaration: schema, rules, columns, subresources.
import type {
  Json,
  JsonObject,
  OwnedVersion,
  ResourceDeclaration,
  Scheme,
  Strategy,
  SubresourceDeclaration,
} from '../../apimachinery/declaration.ts';
import { compareVersions } from '../../apimachinery/discovery/groups.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { isKnownFinalizer } from '../../apimachinery/finalizers.ts';
import { isObject, meta, obj, objs, str, strs } from '../../apimachinery/json-access.ts';
import { decodeObject } from '../../apimachinery/schema-decode.ts';
import { Correlated, type Stopwatch } from '../../apimachinery/structural/correlated.ts';
import { setDefaults } from '../../apimachinery/structural/defaults.ts';
import { decodeEmbedded, embeddedErrors } from '../../apimachinery/structural/embedded-resources.ts';
import { prune } from '../../apimachinery/structural/prune.ts';
import { publishedSchema } from '../../apimachinery/structural/published-schema.ts';
import { typesOf } from '../../apimachinery/structural/schema-types.ts';
import {
  preserves,
  propertyOf,
  type StructuralSchema,
} from '../../apimachinery/structural/structural-schema.ts';
import { repeatedItems } from '../../apimachinery/structural/unique-items.ts';
import { validateStructural } from '../../apimachinery/structural/validate.ts';
import { dnsSubdomain } from '../../apimachinery/validation/names.ts';
import { ruledNames } from '../../apimachinery/validation/object-meta.ts';
import type { Ending } from '../../base/ending.ts';
import { parseJsonPath } from '../../base/json-path.ts';
import { loadOnce } from '../../base/load-once.ts';
import { once } from '../../base/once.ts';
import { hasRules } from '../../cel/rules/validation-rule.ts';
import type { RuleWatch } from './custom-rules.ts';
import { scaleErrors } from './custom-scale.ts';
import type { CustomKind } from './extensible-scheme.ts';
import { printerColumns } from './printer-columns.ts';
import { type SchemaTimes, terminating } from './schema-times.ts';
import { type AskConverter, asOwned, type VersionSchema, versionConversion } from './version-conversion.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const verbs: readonly string[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const subresourceVerbs: readonly string[] = ['get', 'patch', 'update'];
/** What discovery tells of a kind that is being cleared away. As upstream, changes are answered all the same: finalizers must go. */
const clearingVerbs = verbs.filter((verb) => !['create', 'patch', 'update'].includes(verb));
/** Nothing new comes while the old is being cleared away. */
const refused = (): string => terminating;

/** `company.com`, `v1`, `Foo` → `com.company.v1.Foo`: how OpenAPI names it. */
const typeName = (group: string, version: string, kind: string): string =>
  `${group.split('.').reverse().join('.')}.${version}.${kind}`;

/** Reads an object in place: metadata as every object has it, the rest by the schema. */
function decode(scheme: Scheme, schema: StructuralSchema, object: JsonObject): string[] {
  const unknown: string[] = [];
  const metadata = object['metadata'];
  if (isObject(metadata)) {
    const { managedFields } = metadata;
    for (const field of decodeObject(scheme.plans, objectMeta, metadata).unknownFields)
      unknown.push(`metadata.${field}`);
    // As of every kind: no owners at all is a wish.
    if (Array.isArray(managedFields) && managedFields.length === 0) metadata['managedFields'] = [];
  }
  unknown.push(...prune(object, schema), ...decodeEmbedded(scheme.plans, object, schema));
  setDefaults(object, schema);
  // Resources that defaults have made are pruned as those that were sent; nobody who could help it is told.
  decodeEmbedded(scheme.plans, object, schema);
  return unknown;
}

/** As upstream: any name is taken, but whose it is can't be told of one without a domain. */
function finalizerWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const before = new Set(strs(meta(old ?? {})['finalizers']));
  return [...new Set(strs(meta(object)['finalizers']))]
    .filter((name) => !before.has(name) && !isKnownFinalizer(name))
    .sort()
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name${name.includes('.') ? ' including a path (/)' : ''} to avoid accidental conflicts with other finalizer writers`,
    );
}

function createErrors(
  object: JsonObject,
  schema: StructuralSchema,
  scale: JsonObject | undefined,
): FieldError[] {
  return [
    // That there is none is said of every kind.
    ...ruledNames(obj(object['metadata']), dnsSubdomain),
    ...validateStructural(object, schema),
    ...(scale === undefined ? [] : scaleErrors(object, scale, false)),
    ...embeddedErrors(object, schema),
    ...repeatedItems(object, schema),
  ];
}

interface UpdatedAs {
  readonly schema: StructuralSchema;
  /** How the version is scaled; undefined: not at all. */
  readonly scale: JsonObject | undefined;
  readonly ofStatus: boolean;
}

/** What was wrong before and is the same may stay wrong, so that a stricter schema does not freeze old objects. */
function updateErrors(
  object: JsonObject,
  old: JsonObject,
  { schema, scale, ofStatus }: UpdatedAs,
  watch: Stopwatch,
): FieldError[] {
  const errors = ofStatus
    ? statusErrors(object['status'], old['status'], propertyOf(schema, 'status'), watch)
    : validateStructural(object, schema, new Correlated(object, old, schema, watch));
  if (scale !== undefined) errors.push(...scaleErrors(object, scale, ofStatus));
  if (!ofStatus) errors.push(...embeddedErrors(object, schema));
  const repeated = repeatedItems(object, schema);
  if (repeated.length > 0 && repeatedItems(old, schema).length === 0) errors.push(...repeated);
  return errors;
}

function statusErrors(
  status: Json | undefined,
  old: Json | undefined,
  schema: StructuralSchema | undefined,
  watch: Stopwatch,
): FieldError[] {
  if (status === undefined || schema === undefined) return [];
  const change = new Correlated(status, old ?? null, schema, watch);
  return validateStructural(status, schema, change).map((error) => ({
    ...error,
    field: error.field === '<nil>' ? 'status' : `status.${error.field}`,
  }));
}

function strategyOf(
  schema: () => StructuralSchema,
  scale: JsonObject | undefined,
  watch: RuleWatch,
): Strategy {
  const rules = loadOnce(async () => {
    const { customRules } = await import('./custom-rules.ts');
    return customRules(schema(), watch);
  });
  const ruled = once(() => hasRules(schema()));
  return {
    allowUnconditionalUpdate: false,
    keptByStatus: 'all',
    validate: (object) => createErrors(object, schema(), scale),
    validateUpdate(object, old, { subresource }) {
      const stopwatch: Stopwatch = { now: watch.now, spentMs: 0, isRunning: false };
      const kept = { schema: schema(), scale, ofStatus: subresource === 'status' };
      const errors = updateErrors(object, old, kept, stopwatch);
      watch.metrics.ratcheted(stopwatch.spentMs / 1000);
      return errors;
    },
    rules: () => (ruled() ? rules() : undefined),
    warnings: finalizerWarnings,
  };
}

const unwatched: RuleWatch = { now: () => 0, metrics: { compiled() {}, evaluated() {}, ratcheted() {} } };

/** Of all versions: they share the objects, and what is known of them. */
function selectableFieldsOf(versions: readonly JsonObject[]): ResourceDeclaration['selectableFields'] {
  const names = new Set(versions.flatMap(selectableNames));
  const paths = [...names].map((name) => [name, parseJsonPath(`.${name}`)] as const);
  return (object) =>
    Object.fromEntries(
      paths.map(([name, path]) => {
        const value = path.find(object)[0];
        return [name, value === undefined || value === null ? '' : String(value)];
      }),
    );
}

const selectableNames = (version: JsonObject): string[] =>
  objs(version['selectableFields'])
    .map((field) => str(field['jsonPath']).replace(/^\./, ''))
    .filter((name) => name !== '');

function fieldNames(version: JsonObject, namespaced: boolean): ResourceDeclaration['selectableFieldNames'] {
  const places = namespaced ? ['metadata.name', 'metadata.namespace'] : ['metadata.name'];
  return new Map([...places, ...selectableNames(version)].map((name) => [name, name]));
}

/** A definition without its schemas, which are most of it. */
export interface CustomKindSource {
  readonly crd: JsonObject;
  /** Of all that is stored of it. Default: nobody asks. */
  readonly times?: SchemaTimes | undefined;
  /** One of the definition's; it must be served. */
  readonly version: JsonObject;
  /** The definition, read anew: of a thousand kinds few are ever used, and schemas are large. */
  readonly read: () => JsonObject;
  /** Of what the definition says now. */
  readonly replaced?: Ending | undefined;
  /** Default: nobody looks. */
  readonly watch?: RuleWatch | undefined;
  /** Who tells between versions. Default: they differ in nothing but their name. */
  readonly convert?: AskConverter | undefined;
}

const schemaIn = (crd: JsonObject, version: string): StructuralSchema => {
  const spec = obj(crd['spec']);
  const given = obj(
    obj(objs(spec['versions']).find((v) => v['name'] === version)?.['schema'])['openAPIV3Schema'],
  );
  return spec['preserveUnknownFields'] === true && !preserves(given)
    ? { ...given, 'x-kubernetes-preserve-unknown-fields': true }
    : given;
};

/** As upstream: its own words, or that it is deprecated and which newer version is not. */
function deprecationOf(spec: JsonObject, version: JsonObject): { readonly deprecation?: string } {
  if (version['deprecated'] !== true) return {};
  if (typeof version['deprecationWarning'] === 'string')
    return { deprecation: version['deprecationWarning'] };
  const nameIn = (v: string): string => `${str(spec['group'])}/${v} ${str(obj(spec['names'])['kind'])}`;
  const name = str(version['name']);
  const [instead] = objs(spec['versions'])
    .filter((v) => v['served'] === true && v['deprecated'] !== true)
    .map((v) => str(v['name']))
    .filter((v) => compareVersions(v, name) < 0)
    .sort(compareVersions);
  return {
    deprecation: `${nameIn(name)} is deprecated${instead === undefined ? '' : `; use ${nameIn(instead)}`}`,
  };
}

/** Objects may have been stored when another version was the storage version, or when schemas said something else. */
function storedForm(
  { crd, times, version, read, convert }: CustomKindSource,
  schema: () => StructuralSchema,
  scheme: Scheme,
): Pick<
  ResourceDeclaration,
  'storage' | 'schemaSince' | 'beginWrite' | 'conversion' | 'remoteConversion' | 'shown' | 'ownedVersion'
> {
  const spec = obj(crd['spec']);
  const [group, name] = [str(spec['group']), str(version['name'])];
  const versions = objs(spec['versions']);
  const stored = str(versions.find((v) => v['storage'] === true)?.['name']) || name;
  const storage = { group, version: stored, resource: str(obj(spec['names'])['plural']) };
  const since = times === undefined || times.revision === 0 ? undefined : times;
  const writes = times && { beginWrite: times.writes() };
  const isAlone = versions.length === 1;
  const ask = isAlone ? undefined : convert;
  if (isAlone && since === undefined) return { storage, ...writes };
  const served = { apiVersion: `${group}/${name}`, schema };
  const all = new Map(
    versions.map((one) => {
      const apiVersion = `${group}/${str(one['name'])}`;
      const own = { apiVersion, schema: once(() => schemaIn(read(), str(one['name']))) };
      return [apiVersion, apiVersion === served.apiVersion ? served : own] as const;
    }),
  );
  const conversion = versionConversion(ask, {
    served,
    storage: all.get(`${group}/${stored}`) ?? served,
    all,
    readEmbedded: (object) => void decodeEmbedded(scheme.plans, object, schema()),
    since,
  });
  const owned = isAlone ? {} : { ownedVersion: ownedVersions(crd, all, ask, scheme) };
  return {
    storage,
    ...conversion,
    ...owned,
    ...writes,
    ...(since === undefined ? {} : { schemaSince: since }),
  };
}

/** Its versions, each made when the first object that is owned in it is written in another. */
function ownedVersions(
  crd: JsonObject,
  all: ReadonlyMap<string, VersionSchema>,
  ask: AskConverter | undefined,
  scheme: Scheme,
): (apiVersion: string) => OwnedVersion | undefined {
  const spec = obj(crd['spec']);
  const group = str(spec['group']);
  const { kind } = acceptedNames(crd);
  const made = objs(spec['versions']).map(({ name, subresources }) => {
    const apiVersion = `${group}/${str(name)}`;
    const type = typeName(group, str(name), str(kind));
    return [
      apiVersion,
      once((): OwnedVersion => {
        const version = all.get(apiVersion)!;
        const types = typesOf(type, version.schema());
        return {
          schema: { type: (fullName) => types.get(fullName) ?? scheme.type(fullName) },
          type,
          hasStatus: obj(subresources)['status'] !== undefined,
          convert: asOwned(ask, version),
        };
      }),
    ] as const;
  });
  const versions = new Map(made);
  return (apiVersion) => versions.get(apiVersion)?.();
}

/** As upstream: those that it was given, whatever it asks for by now. */
function acceptedNames(crd: JsonObject): JsonObject {
  const accepted = obj(obj(crd['status'])['acceptedNames']);
  return str(accepted['plural']) === '' ? obj(obj(crd['spec'])['names']) : accepted;
}

export function customKind(source: CustomKindSource, scheme: Scheme): CustomKind {
  const { crd, version, read } = source;
  const spec = obj(crd['spec']);
  const names = acceptedNames(crd);
  const group = str(spec['group']);
  const name = str(version['name']);
  const kind = str(names['kind']);
  const gvk = { group, version: name, kind };
  const type = typeName(group, name, kind);
  const schema = once(() => schemaIn(read(), name));
  const selectable = selectableNames(version);
  const subresources = obj(version['subresources']);
  const scale = subresources['scale'] === undefined ? undefined : obj(subresources['scale']);
  const versions = objs(spec['versions']);
  const deleting = obj(crd['metadata'])['deletionTimestamp'] !== undefined;
  const { columns, row } = printerColumns(version);
  const namespaced = spec['scope'] === 'Namespaced';
  const declared: SubresourceDeclaration[] = [
    ...(subresources['status'] === undefined ? [] : [{ name: 'status', kind: gvk, verbs: subresourceVerbs }]),
    ...(scale === undefined
      ? []
      : [
          {
            name: 'scale',
            kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
            verbs: subresourceVerbs,
          },
        ]),
  ];
  const declaration: ResourceDeclaration = {
    ...gvk,
    listKind: str(names['listKind']) || `${kind}List`,
    resource: str(names['plural']),
    singular: str(names['singular']) || kind.toLowerCase(),
    shortNames: strs(names['shortNames']),
    categories: strs(names['categories']),
    namespaced,
    verbs: deleting ? clearingVerbs : verbs,
    ...(deleting || source.times ? { refusesCreate: deleting ? refused : source.times!.creates() } : {}),
    type,
    columns,
    subresources: declared,
    strategy: strategyOf(schema, scale, source.watch ?? unwatched),
    custom: true,
    ...deprecationOf(spec, version),
    definedAs: `${str(meta(crd)['uid'])}/${String(meta(crd)['generation'])}`,
    ...(source.replaced === undefined ? {} : { replaced: source.replaced }),
    virtual: false,
    hasStatus: subresources['status'] !== undefined,
    hasGeneration: true,
    ...storedForm(source, schema, scheme),
    row,
    selectableFields: selectableFieldsOf(versions),
    selectableFieldNames: fieldNames(version, namespaced),
  };
  return {
    declaration,
    types: once(() => typesOf(type, schema())),
    plan: { kind: 'own', decode: (object) => decode(scheme, schema(), object) },
    definition: (dialect) => publishedSchema(schema(), { gvk, selectable }, dialect),
  };
}
