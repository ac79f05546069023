// The strategy that the server sees: a kind's own rules, joined with those of names and of the schema.
import type { JsonObject, Strategy } from '../../apimachinery/declaration.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { obj } from '../../apimachinery/json-access.ts';
import type { BehaviourOf } from '../../apimachinery/kind-behaviour.ts';
import type { PlanSource } from '../../apimachinery/plan.ts';
import { staticDefaults } from '../../apimachinery/schema-decode.ts';
import { newErrors } from '../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../apimachinery/validation/names.ts';
import { ruledNames } from '../../apimachinery/validation/object-meta.ts';
import { schemaErrors } from '../../apimachinery/validation/schema-rules.ts';

export function strategyOf(
  behaviour: BehaviourOf<JsonObject>,
  type: string,
  plans: PlanSource,
  hasStatus: boolean,
): Strategy {
  const own = behaviour.strategy ?? {};
  const nameRule = behaviour.nameRule ?? dnsSubdomain;
  /** What the schema says of fields that the kind's own rules have not spoken of. */
  const complete = (errors: readonly FieldError[], object: JsonObject): FieldError[] => {
    const missed = schemaErrors(plans, type, object);
    if (missed.length === 0) return [...errors];
    const spoken = new Set(errors.map(({ field }) => field));
    return [...errors, ...missed.filter(({ field }) => !holders(field).some((f) => spoken.has(f)))];
  };
  return {
    ...own,
    prepareForCreate(object, context) {
      own.prepareForCreate?.(object, context);
      if (hasStatus && object['status'] === undefined) staticDefaults(plans, type, object);
    },
    validate: (object) =>
      behaviour.virtual
        ? (own.validate?.(object) ?? [])
        : [
            ...ruledNames(obj(object['metadata']), nameRule),
            ...complete(own.validate?.(object) ?? [], object),
          ],
    validateUpdate(object, old, context) {
      const change = own.validateUpdate?.(object, old, context) ?? [];
      if (context.subresource !== '') return change;
      const rules = (of: JsonObject): readonly FieldError[] =>
        behaviour.ownUpdateRules ? [] : (own.validate?.(of) ?? []);
      return newErrors(complete([...rules(object), ...change], object), () => complete(rules(old), old));
    },
  };
}

/** A field and all that hold it: `a.b[0]`, `a.b`, `a`. There can be tens of thousands of faults, so none is compared. */
const holders = (field: string): string[] => [
  field,
  ...[...field.matchAll(/[.[]/g)].map(({ index }) => field.slice(0, index)),
];
