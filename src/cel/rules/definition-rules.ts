// The rules of a definition's schema, judged before it is stored: whether they are rules, and what they may cost.
import type { FieldError } from '../../apimachinery/field-error.ts';
import { forbidden, invalid } from '../../apimachinery/field-error.ts';
import type { Json } from '../../apimachinery/json.ts';
import { isObject, str } from '../../apimachinery/json-access.ts';
import {
  isEmbedded,
  itemsOf,
  listTypeOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from '../../apimachinery/structural/structural-schema.ts';
import type { Steps } from '../../base/turns.ts';
import type { Environment } from '../environment.ts';
import { unlimited } from '../estimate.ts';
import { type SchemaType, schemaType } from '../schema-type.ts';
import { type CompiledRule, ruleCompiler, typesWithin } from './compile-rule.ts';
import { hasRules, shownRule, validationsOf } from './validation-rule.ts';

/** Upstream's StaticEstimatedCostLimit and StaticEstimatedCRDCostLimit. */
const mostOfOne = 10_000_000;
const mostOfAll = 100_000_000;
const maxRequest = 3 * 1024 * 1024;
const extension = 'x-kubernetes-validations';

const times = (a: number, b: number): number => Math.min(a * b, unlimited);

/** What a schema is in CEL; `type` is undefined where nothing can be said of its values. */
interface Typed {
  readonly type: SchemaType | undefined;
  readonly types: Environment;
}

interface Place {
  readonly path: string;
  readonly root: boolean;
  /** The most values that there can be of the schema; undefined: nothing around them says. */
  readonly most: number | undefined;
  /** Where its values no longer belong to those before an update. */
  readonly uncorrelated: string | undefined;
  /** Of a schema around it, if that has rules or stands within one that has. */
  readonly around: (() => Typed) | undefined;
  /** Within what `around` gives. */
  readonly step: (around: SchemaType) => SchemaType | undefined | 'own';
}

/** How many values a value of the schema may hold. */
function mostWithin(schema: StructuralSchema): number | undefined {
  const bound = (value: Json | undefined): number | undefined =>
    typeof value === 'number' ? Math.max(0, value) : undefined;
  if (schema['type'] === 'array') return bound(schema['maxItems']);
  if (schema['type'] === 'object' && schema['additionalProperties'] !== undefined)
    return bound(schema['maxProperties']);
  return 1;
}

function overBudget(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown =
    factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** One schema of a definition. `isBroken`: at or below the path there are other faults, and rules are not looked at. */
export class DefinitionRules {
  readonly errors: FieldError[] = [];
  readonly #isBroken: (path: string) => boolean;
  #total = 0;
  #dearest: { readonly path: string; readonly cost: number }[] = [];

  constructor(isBroken: (path: string) => boolean) {
    this.#isBroken = isBroken;
  }

  *judge(schema: StructuralSchema, path: string): Steps<readonly FieldError[]> {
    yield* this.#visit(schema, {
      path,
      root: true,
      most: 1,
      uncorrelated: undefined,
      around: undefined,
      step: () => 'own',
    });
    if (this.#total <= mostOfAll) return this.errors;
    const contributed =
      'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    for (const { path: at } of this.#dearest) this.errors.push(forbidden(at, contributed));
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    this.errors.push(forbidden(path, overBudget(what, this.#total, mostOfAll)));
    return this.errors;
  }

  *#visit(schema: StructuralSchema, place: Place): Steps<void> {
    if (!hasRules(schema)) return;
    const { path } = place;
    const hasOwn = validationsOf(schema).length > 0;
    let known: Typed | undefined;
    const typed = (): Typed => (known ??= typeAt(schema, place));
    const within = mostWithin(schema);
    const below = {
      root: false,
      most: place.most === undefined || within === undefined ? undefined : times(place.most, within),
      uncorrelated: place.uncorrelated,
      around: hasOwn || place.around !== undefined ? typed : undefined,
    };
    const values = valuesOf(schema);
    if (isObject(values))
      yield* this.#visit(values, {
        ...below,
        path: `${path}.additionalProperties`,
        step: (around) => around.element,
      });
    // Upstream knows how fields of these two belong together, and no others.
    const mapType = str(schema['x-kubernetes-map-type']);
    const isKnownMap = mapType === '' || mapType === 'granular' || mapType === 'atomic';
    const ofFields = isKnownMap ? below.uncorrelated : (below.uncorrelated ?? path);
    for (const name of Object.keys(propertiesOf(schema))) {
      const property = propertyOf(schema, name);
      if (property === undefined) continue;
      const step = (around: SchemaType): SchemaType | 'own' => {
        const field = around.members.get(name);
        return field?.declared === true && field.written !== undefined ? field.type : 'own';
      };
      yield* this.#visit(property, {
        ...below,
        uncorrelated: ofFields,
        path: `${path}.properties[${name}]`,
        step,
      });
    }
    const items = itemsOf(schema);
    if (items) {
      const uncorrelated = place.uncorrelated ?? (listTypeOf(schema) === 'map' ? undefined : path);
      const step = (around: SchemaType): SchemaType | undefined => around.element;
      yield* this.#visit(items, { ...below, uncorrelated, path: `${path}.items`, step });
    }
    if (hasOwn && !this.#isBroken(path)) yield* this.#own(schema, place, typed());
  }

  *#own(schema: StructuralSchema, place: Place, { type, types }: Typed): Steps<void> {
    const at = `${place.path}.${extension}`;
    if (type === undefined) {
      const why = 'failed to convert to declType for CEL validation rules';
      this.errors.push({ type: 'InternalError', field: at, message: `Internal error: ${why}` });
      return;
    }
    const fits = Math.floor(maxRequest / (type.minSerialized + 1));
    const compile = ruleCompiler(schema, type, types);
    for (const [i, rule] of validationsOf(schema).entries()) {
      this.#one(compile(rule), `${at}[${i}]`, place, place.most ?? fits);
      // There may be many.
      yield;
    }
  }

  #one(compiled: CompiledRule, at: string, { uncorrelated }: Place, most: number): void {
    const { rule, check, message } = compiled;
    const cost = check === undefined ? 0 : times(check.maxCost(), most);
    if (cost > mostOfOne)
      this.errors.push(forbidden(`${at}.rule`, overBudget('estimated rule cost', cost, mostOfOne)));
    this.#observe(`${at}.rule`, cost);
    const wrong = (field: string, why: string): void => {
      const text = `Invalid value: ${shownRule(rule)}: ${why}`;
      this.errors.push({ type: 'FieldValueInvalid', field: `${at}.${field}`, message: text });
    };
    if (compiled.error !== undefined) wrong('rule', compiled.error);
    if (compiled.messageError !== undefined) wrong('messageExpression', compiled.messageError);
    else if (message !== undefined) this.#messageCost(message.maxCost(), `${at}.messageExpression`);
    if (compiled.usesOldSelf && uncorrelated !== undefined)
      this.errors.push(
        invalid(
          `${at}.rule`,
          rule.rule,
          `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`,
        ),
      );
    else if (!compiled.usesOldSelf && rule.optionalOldSelf !== undefined)
      this.errors.push(
        invalid(
          `${at}.optionalOldSelf`,
          rule.optionalOldSelf,
          'may not be set if oldSelf is not used in rule',
        ),
      );
  }

  #messageCost(cost: number, at: string): void {
    if (cost > mostOfOne)
      this.errors.push(forbidden(at, overBudget('estimated messageExpression cost', cost, mostOfOne)));
    this.#observe(at, cost);
  }

  /** The four dearest are told when all together are too dear. */
  #observe(path: string, cost: number): void {
    this.#total = Math.min(this.#total + cost, unlimited);
    if (cost < mostOfAll / 100) return;
    this.#dearest.push({ path, cost });
    this.#dearest = this.#dearest.sort((a, b) => b.cost - a.cost).slice(0, 4);
  }
}

/** As what is around it knows it; otherwise by itself. */
function typeAt(schema: StructuralSchema, { around, step, root }: Place): Typed {
  const outer = around?.();
  const found = outer?.type === undefined ? 'own' : step(outer.type);
  if (outer !== undefined && found !== 'own') return { type: found, types: outer.types };
  const type = schemaType(schema, 'selfType', root || isEmbedded(schema));
  return { type: type.kind === 'unknown' ? undefined : type, types: typesWithin(type) };
}
