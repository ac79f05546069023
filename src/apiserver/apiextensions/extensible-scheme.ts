// The built-in kinds, and beside them those that clients define while the server runs.
import type { JsonObject, ResourceDeclaration, Scheme, TypeSchema } from '../../apimachinery/declaration.ts';
import type { PlanNode } from '../../apimachinery/plan.ts';

/** What one version of a custom resource adds to the scheme. */
export interface CustomKind {
  readonly declaration: ResourceDeclaration;
  readonly types: ReadonlyMap<string, TypeSchema>;
  readonly plan: PlanNode;
  definition(dialect: 'v2' | 'v3'): JsonObject;
}

export interface ExtensibleScheme extends Scheme {
  /** Replaces all custom kinds. What did not change should be the same object as before: stores hang on it. */
  setCustomKinds(kinds: readonly CustomKind[]): void;
}

export function extensibleScheme(base: Scheme): ExtensibleScheme {
  let all = base.resources();
  let byType = new Map<string, CustomKind>();
  let types = new Map<string, TypeSchema>();
  let byResource = new Map<string, CustomKind>();
  let byKind = new Map<string, CustomKind>();
  let lists = new Map<string, string>();
  const key = (group: string, version: string, name: string): string => `${group}/${version}/${name}`;
  return {
    type: (name) => types.get(name) ?? base.type(name),
    resources: () => all,
    resource: (group, version, resource) =>
      base.resource(group, version, resource) ?? byResource.get(key(group, version, resource))?.declaration,
    kind: (gvk) => base.kind(gvk) ?? byKind.get(key(gvk.group, gvk.version, gvk.kind))?.declaration,
    typeOf: (gvk) => {
      const k = key(gvk.group, gvk.version, gvk.kind);
      return byKind.get(k)?.declaration.type ?? lists.get(k) ?? base.typeOf(gvk);
    },
    plans: { plan: (type) => byType.get(type)?.plan ?? base.plans.plan(type) },
    definition: (type, dialect) => byType.get(type)?.definition(dialect) ?? base.definition?.(type, dialect),
    ...(base.descriptions ? { descriptions: base.descriptions } : {}),
    setCustomKinds(kinds) {
      all = [...base.resources(), ...kinds.map((k) => k.declaration)];
      byType = new Map(kinds.map((k) => [k.declaration.type, k]));
      types = new Map(kinds.flatMap((k) => [...k.types]));
      const of = (k: CustomKind, name: string): string =>
        key(k.declaration.group, k.declaration.version, name);
      byResource = new Map(kinds.map((k) => [of(k, k.declaration.resource), k]));
      byKind = new Map(kinds.map((k) => [of(k, k.declaration.kind), k]));
      lists = new Map(kinds.map((k) => [of(k, k.declaration.listKind), `${k.declaration.type}List`]));
    },
  };
}
