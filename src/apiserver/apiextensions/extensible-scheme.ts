// The built-in kinds, and beside them those that clients define while the server runs.
import type { JsonObject, ResourceDeclaration, Scheme, TypeSchema } from '../../apimachinery/declaration.ts';
import type { PlanNode } from '../../apimachinery/plan.ts';
import { kindOfType } from '../../apimachinery/structural/schema-types.ts';

/** What one version of a custom resource adds to the scheme. */
export interface CustomKind {
  readonly declaration: ResourceDeclaration;
  readonly types: () => ReadonlyMap<string, TypeSchema>;
  readonly plan: PlanNode;
  definition(dialect: 'v2' | 'v3'): JsonObject;
}

export interface ExtensibleScheme extends Scheme {
  /** Replaces what a definition adds; none when it is gone. Costs as much as that definition, however many there are. */
  setCustomKinds(definition: string, kinds: readonly CustomKind[]): void;
}

const keyOf = (group: string, version: string, name: string): string => `${group}/${version}/${name}`;

/** The custom kinds by all that is asked for. */
class CustomKinds {
  readonly byDefinition = new Map<string, readonly CustomKind[]>();
  readonly byType = new Map<string, CustomKind>();
  readonly byResource = new Map<string, CustomKind>();
  readonly byKind = new Map<string, CustomKind>();
  readonly lists = new Map<string, string>();

  replace(definition: string, kinds: readonly CustomKind[]): void {
    for (const kind of this.byDefinition.get(definition) ?? []) this.#remove(kind);
    if (kinds.length === 0) this.byDefinition.delete(definition);
    else this.byDefinition.set(definition, kinds);
    for (const kind of kinds) this.#add(kind);
  }

  #add(kind: CustomKind): void {
    const { group, version, resource, kind: name, listKind, type } = kind.declaration;
    this.byType.set(type, kind);
    this.byResource.set(keyOf(group, version, resource), kind);
    this.byKind.set(keyOf(group, version, name), kind);
    this.lists.set(keyOf(group, version, listKind), `${type}List`);
  }

  /** Another definition may have taken the name meanwhile: that stays. */
  #remove(kind: CustomKind): void {
    const { group, version, resource, kind: name, listKind, type } = kind.declaration;
    if (this.byType.get(type) === kind) {
      this.byType.delete(type);
      this.lists.delete(keyOf(group, version, listKind));
    }
    const resourceKey = keyOf(group, version, resource);
    if (this.byResource.get(resourceKey) === kind) this.byResource.delete(resourceKey);
    const kindKey = keyOf(group, version, name);
    if (this.byKind.get(kindKey) === kind) this.byKind.delete(kindKey);
  }
}

/** What is built in wins everywhere: a definition may ask for a built-in's names, and must not change how that is read. */
export function extensibleScheme(base: Scheme): ExtensibleScheme {
  const custom = new CustomKinds();
  /** Another array whenever something changed: documents are kept by it. */
  let all: readonly ResourceDeclaration[] | undefined = base.resources();
  return {
    type: (name) => base.type(name) ?? custom.byType.get(kindOfType(name))?.types().get(name),
    resources: () =>
      (all ??= [
        ...base.resources(),
        ...[...custom.byDefinition.values()].flatMap((kinds) => kinds.map((k) => k.declaration)),
      ]),
    resource: (group, version, resource) =>
      base.resource(group, version, resource) ??
      custom.byResource.get(keyOf(group, version, resource))?.declaration,
    kind: (gvk) => base.kind(gvk) ?? custom.byKind.get(keyOf(gvk.group, gvk.version, gvk.kind))?.declaration,
    typeOf: (gvk) => {
      const key = keyOf(gvk.group, gvk.version, gvk.kind);
      return base.typeOf(gvk) ?? custom.byKind.get(key)?.declaration.type ?? custom.lists.get(key);
    },
    plans: { plan: (type) => base.plans.plan(type) ?? custom.byType.get(type)?.plan },
    definition: (type, dialect) =>
      base.type(type) === undefined
        ? custom.byType.get(type)?.definition(dialect)
        : base.definition?.(type, dialect),
    ...(base.descriptions ? { descriptions: base.descriptions } : {}),
    setCustomKinds(definition, kinds) {
      if (kinds.length === 0 && !custom.byDefinition.has(definition)) return;
      custom.replace(definition, kinds);
      all = undefined;
    },
  };
}
