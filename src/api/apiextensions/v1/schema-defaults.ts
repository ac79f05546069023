// Defaults of a definition's schema, by the types that metadata has here.
import type { FieldError } from '../../../apimachinery/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import type { PlanSource } from '../../../apimachinery/plan.ts';
import { createPlans } from '../../../apimachinery/schema-plan.ts';
import { defaultErrors } from '../../../apimachinery/structural/default-rules.ts';
import { schemaSource } from '../../schema-source.ts';

let made: PlanSource | undefined;
const plans = (): PlanSource => {
  made ??= createPlans(schemaSource);
  return made;
};

/** `pruned`: they may not have unknown fields. */
export const schemaDefaultErrors = (schema: JsonObject, path: string, pruned: boolean): FieldError[] =>
  defaultErrors(schema, path, { pruned, plans });
