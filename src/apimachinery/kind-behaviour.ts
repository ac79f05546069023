// What a kind adds to its data: cells of its row, names for field selectors, rules. Everything is optional.
import type { Json, ResourceDeclaration, Strategy } from './declaration.ts';
import type { Decoded } from './decoded.ts';
import type { NameRule } from './validation/names.ts';

export interface BehaviourOf<Thing> {
  readonly row?: (object: Thing, now: number) => Json[];
  readonly selectableFields?: (object: Thing) => Readonly<Record<string, string>>;
  /** Of another face of a stored kind: the names of field selectors, and how that kind calls them. */
  readonly storedFieldNames?: ReadonlyMap<string, string>;
  readonly strategy?: Strategy<Thing>;
  /** The rule of metadata.name. Default: a DNS subdomain. */
  readonly nameRule?: NameRule;
  /** True when validateUpdate says all there is to say; else the rules of creation come first. */
  readonly ownUpdateRules?: boolean;
  /** True when metadata.generation counts changes of the spec (of everything, for kinds without one). */
  readonly hasGeneration?: boolean;
  readonly virtual?: boolean;
  /** True when clients compare the bytes of what it holds with what Go's encoder makes: it is written as that does. */
  readonly writtenAsGo?: boolean;
  /** What whoever asks for it is warned of. */
  readonly deprecation?: string;
  readonly storage?: ResourceDeclaration['storage'];
  readonly conversion?: NonNullable<ResourceDeclaration['conversion']>;
}

/** `Type` is the generated one: every body is decoded as it before anything here is asked. */
export type KindBehaviour<Type> = BehaviourOf<Decoded<Type>>;

/** A group's kinds by plural resource name: `GroupBehaviours<{ pods: Pod }>`. */
export type GroupBehaviours<Kinds> = {
  readonly [Resource in keyof Kinds]: KindBehaviour<Kinds[Resource]>;
};
