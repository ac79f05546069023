// The kinds of the built-in API: data of the schema joined with what each group's files add.
import type {
  ColumnDefinition,
  GroupVersionKind,
  JsonObject,
  ResourceDeclaration,
  Scheme,
  Strategy,
  TypeSchema,
} from '../apimachinery/declaration.ts';
import { ageOf } from '../apimachinery/human-duration.ts';
import { meta } from '../apimachinery/json-access.ts';
import type { BehaviourOf } from '../apimachinery/kind-behaviour.ts';
import type { PlanSource } from '../apimachinery/plan.ts';
import { type ApiEnablement, servedByDefault } from './api-enablement.ts';
import { builtInPlans } from './built-in-plans.ts';
import { readDescriptions } from './descriptions/read-descriptions.ts';
import { strategyOf } from './meta/strategy.ts';
import { notEnforcedWarnings } from './not-enforced.ts';
import { behaviours } from './registry.ts';
import { isReturnedOnDelete } from './returned-on-delete.ts';
import data from './schema/resources.json' with { type: 'json' };
import { schemaSource, typeOfKind } from './schema-source.ts';

interface ResourceData {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns?: readonly ColumnDefinition[];
  readonly subresources: readonly {
    readonly subresource: string;
    readonly responseKind: GroupVersionKind;
    readonly verbs: readonly string[];
  }[];
}

const nameAndAge: readonly ColumnDefinition[] = [
  { name: 'Name', type: 'string', format: 'name', priority: 0 },
  { name: 'Age', type: 'string', priority: 0 },
];
const kindOf = (own: ResourceData, gvk: GroupVersionKind): GroupVersionKind =>
  gvk.group === '' && gvk.version === '' ? { group: own.group, version: own.version, kind: gvk.kind } : gvk;

function declare(
  resource: ResourceData,
  behaviour: BehaviourOf<JsonObject>,
  plans: PlanSource,
): ResourceDeclaration {
  const { group, version } = resource;
  const kind = resource.responseKind.kind;
  const type = typeOfKind({ group, version, kind });
  if (!type) throw new Error(`no type for ${group}/${version}, Kind=${kind}`);
  const schema: TypeSchema | undefined = schemaSource.type(type);
  const hasStatus =
    schema?.fields?.['status'] !== undefined && resource.subresources.some((s) => s.subresource === 'status');
  const own = behaviour.selectableFields;
  const names = own ? Object.keys(own({})).map((name) => [name, name] as const) : [];
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    resource: resource.resource,
    singular: resource.singularResource,
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    namespaced: resource.scope === 'Namespaced',
    verbs: resource.verbs,
    type,
    columns: resource.columns?.length ? resource.columns : nameAndAge,
    subresources: resource.subresources.map((s) => ({
      name: s.subresource,
      kind: kindOf(resource, s.responseKind),
      verbs: s.verbs,
    })),
    strategy: withWarnings(
      {
        ...strategyOf(behaviour, type, plans, hasStatus),
        returnDeletedObject: isReturnedOnDelete(group, resource.resource),
      },
      notEnforcedWarnings(group, resource.resource),
    ),
    virtual: behaviour.virtual ?? false,
    ...(behaviour.deprecation === undefined ? {} : { deprecation: behaviour.deprecation }),
    hasStatus,
    hasGeneration: behaviour.hasGeneration ?? false,
    writtenAsGo: behaviour.writtenAsGo ?? false,
    storage: behaviour.storage ?? { group, version, resource: resource.resource },
    ...(behaviour.conversion ? { conversion: behaviour.conversion } : {}),
    row:
      behaviour.row ??
      ((object, now) => [meta(object)['name'] ?? '', ageOf(meta(object)['creationTimestamp'], now)]),
    selectableFields: own ?? (() => ({})),
    selectableFieldNames: new Map([
      ['metadata.name', 'metadata.name'],
      ...(resource.scope === 'Namespaced' ? [['metadata.namespace', 'metadata.namespace'] as const] : []),
      ...(behaviour.storedFieldNames ?? names),
    ]),
  };
}

/** The strategy with what is said of its kind beside its own warnings. */
function withWarnings(strategy: Strategy, more: ReturnType<typeof notEnforcedWarnings>): Strategy {
  if (more === undefined) return strategy;
  return {
    ...strategy,
    warnings: (object, old) => [...(strategy.warnings?.(object, old) ?? []), ...more(object)],
  };
}

/**
 * A kind's behaviour, which says of its type what the server asks of JSON. This is where the one stands for the other:
 * whatever it is asked with was decoded as that type (`decodeObject`), or is refused.
 */
const behaviourOf = ({ group, version, resource }: ResourceData): BehaviourOf<JsonObject> =>
  (behaviours[`${group}/${version}`]?.[resource] ?? {}) as BehaviourOf<JsonObject>;

/** All built-in kinds that are served. Made once a server; CRDs are put beside it by whoever serves them. */
export function createScheme(serves: ApiEnablement['serves'] = servedByDefault): Scheme {
  const plans = builtInPlans();
  const all = (data as unknown as readonly ResourceData[])
    .filter(serves)
    .map((r) => declare(r, behaviourOf(r), plans));
  const byResource = new Map(all.map((d) => [`${d.group}/${d.version}/${d.resource}`, d]));
  const byKind = new Map(all.map((d) => [`${d.group}/${d.version}/${d.kind}`, d]));
  return {
    type: (fullName) => schemaSource.type(fullName),
    resources: () => all,
    resource: (group, version, resource) => byResource.get(`${group}/${version}/${resource}`),
    kind: (gvk) => byKind.get(`${gvk.group}/${gvk.version}/${gvk.kind}`),
    typeOf: typeOfKind,
    plans,
    descriptions: readDescriptions,
  };
}
