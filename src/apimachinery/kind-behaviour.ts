// What a kind adds to its data: cells of its row, names for field selectors, rules. Everything is optional.
import type { Json, JsonObject, ResourceDeclaration, Strategy } from './declaration.ts';
import type { NameRule } from './validation/names.ts';

export interface KindBehaviour {
  readonly row?: (object: JsonObject, now: number) => Json[];
  readonly selectableFields?: (object: JsonObject) => Readonly<Record<string, string>>;
  readonly strategy?: Strategy;
  /** The rule of metadata.name. Default: a DNS subdomain. */
  readonly nameRule?: NameRule;
  /** True when validateUpdate says all there is to say; else the rules of creation come first. */
  readonly ownUpdateRules?: boolean;
  /** True when metadata.generation counts changes of the spec (of everything, for kinds without one). */
  readonly hasGeneration?: boolean;
  readonly virtual?: boolean;
  readonly storage?: ResourceDeclaration['storage'];
  readonly conversion?: NonNullable<ResourceDeclaration['conversion']>;
}

/** A group's kinds by plural resource name. */
export type GroupBehaviours = Readonly<Record<string, KindBehaviour>>;
