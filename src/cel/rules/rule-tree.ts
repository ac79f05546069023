// The rules of a schema by where they stand in it. Only schemas with rules, and those on the way to them, have a place.
import { isObject } from '../../apimachinery/json-access.ts';
import {
  isEmbedded,
  itemsOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from '../../apimachinery/structural/structural-schema.ts';
import type { Environment } from '../environment.ts';
import { type SchemaType, schemaType } from '../schema-type.ts';
import { type CompiledRule, ruleCompiler, typesWithin } from './compile-rule.ts';
import { hasRules, type ValidationRule, validationsOf } from './validation-rule.ts';

/** Compiles a rule; whoever measures how long that takes goes around it. */
type Compiling = (compile: () => CompiledRule) => CompiledRule;

interface TreeBase {
  readonly environment: () => Environment;
  readonly compiling: Compiling;
}

export class RuleTree {
  readonly schema: StructuralSchema;
  /** undefined: nothing is known of the values, and rules about them can't be. */
  readonly type: SchemaType | undefined;
  readonly items: RuleTree | undefined;
  /** Of the values of a map. */
  readonly values: RuleTree | undefined;
  readonly properties: ReadonlyMap<string, RuleTree>;
  /** There are rules about what is in the value. */
  readonly goesOn: boolean;
  readonly #base: TreeBase;
  readonly #given: readonly ValidationRule[];
  /** When the first value comes: of many rules few are about values that are given. */
  readonly #compiled: CompiledRule[] = [];
  #compile: ((rule: ValidationRule) => CompiledRule) | undefined;

  constructor(schema: StructuralSchema, type: SchemaType | undefined, base: TreeBase) {
    this.schema = schema;
    this.type = type;
    this.#base = base;
    this.#given = type === undefined ? [] : validationsOf(schema);
    const items = itemsOf(schema);
    const values = valuesOf(schema);
    const below = (of: StructuralSchema): RuleTree | undefined =>
      hasRules(of) ? new RuleTree(of, type?.element, base) : undefined;
    this.items = items && below(items);
    this.values = isObject(values) ? below(values) : undefined;
    this.properties = propertiesIn(schema, type, base);
    this.goesOn = this.items !== undefined || this.values !== undefined || this.properties.size > 0;
  }

  /** How many rules are about the value itself. */
  get size(): number {
    return this.#given.length;
  }

  isCompiled(index: number): boolean {
    return this.#compiled[index] !== undefined;
  }

  rule(index: number): CompiledRule {
    this.#compile ??= ruleCompiler(this.schema, this.type!, this.#base.environment());
    const compile = this.#compile;
    this.#compiled[index] ??= this.#base.compiling(() => compile(this.#given[index]!));
    return this.#compiled[index];
  }
}

function propertiesIn(
  schema: StructuralSchema,
  type: SchemaType | undefined,
  base: TreeBase,
): ReadonlyMap<string, RuleTree> {
  const found = new Map<string, RuleTree>();
  for (const name of Object.keys(propertiesOf(schema))) {
    const property = propertyOf(schema, name);
    if (property === undefined || !hasRules(property)) continue;
    const field = type?.members.get(name);
    // What has no type, rules know nothing of.
    if (field?.declared === true) found.set(name, new RuleTree(property, field.type, base));
  }
  return found;
}

/** undefined: it has none. `isRoot`: it is the schema of a whole resource. */
export function ruleTree(
  schema: StructuralSchema,
  isRoot: boolean,
  compiling: Compiling = (compile) => compile(),
): RuleTree | undefined {
  if (!hasRules(schema)) return undefined;
  const type = schemaType(schema, 'selfType', isRoot || isEmbedded(schema));
  let environment: Environment | undefined;
  return new RuleTree(schema, type, { environment: () => (environment ??= typesWithin(type)), compiling });
}
