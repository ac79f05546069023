// One entry of x-kubernetes-validations, as a definition gives it.
import type { JsonObject } from '../../apimachinery/json.ts';
import { isObject, objs, str } from '../../apimachinery/json-access.ts';
import {
  itemsOf,
  propertiesOf,
  type StructuralSchema,
  valuesOf,
} from '../../apimachinery/structural/structural-schema.ts';
import { htmlSafeJson } from '../../base/html-safe-json.ts';

export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string;
  readonly fieldPath: string;
  /** undefined: not said. */
  readonly optionalOldSelf: boolean | undefined;
}

const extension = 'x-kubernetes-validations';

const ruleOf = (given: JsonObject): ValidationRule => ({
  rule: str(given['rule']),
  message: str(given['message']),
  messageExpression: str(given['messageExpression']),
  reason: str(given['reason']),
  fieldPath: str(given['fieldPath']),
  optionalOldSelf: typeof given['optionalOldSelf'] === 'boolean' ? given['optionalOldSelf'] : undefined,
});

/** Of this schema alone, without those within. */
export const validationsOf = (schema: StructuralSchema): ValidationRule[] =>
  objs(schema[extension]).map(ruleOf);

/** Schemas that describe values within those of this one. */
function* schemasWithin(schema: StructuralSchema): Generator<StructuralSchema> {
  const items = itemsOf(schema);
  if (items) yield items;
  const values = valuesOf(schema);
  if (isObject(values)) yield values;
  for (const property of Object.values(propertiesOf(schema))) if (isObject(property)) yield property;
}

/** Whether values of the schema have to keep rules, themselves or within. Junctors hold none. */
export function hasRules(schema: StructuralSchema): boolean {
  const own = schema[extension];
  if (Array.isArray(own) && own.length > 0) return true;
  for (const one of schemasWithin(schema)) if (hasRules(one)) return true;
  return false;
}

/** How messages name a rule. */
export const validationText = ({ message, rule }: ValidationRule): string =>
  (message === '' ? rule : message).trim();

/** As upstream's messages show a rule that is wrong: its fields as Go has them. */
export function shownRule(rule: ValidationRule): string {
  return htmlSafeJson({
    Rule: rule.rule,
    Message: rule.message,
    MessageExpression: rule.messageExpression,
    Reason: rule.reason === '' ? null : rule.reason,
    FieldPath: rule.fieldPath,
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  });
}
