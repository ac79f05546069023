// Defaults of a definition's schema, by the types that metadata has here.
import type { FieldError } from '../../../apimachinery/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { defaultErrors } from '../../../apimachinery/structural/default-rules.ts';
import { builtInPlans } from '../../built-in-plans.ts';

/** `pruned`: they may not have unknown fields. */
export const schemaDefaultErrors = (schema: JsonObject, path: string, pruned: boolean): FieldError[] =>
  defaultErrors(schema, path, { pruned, plans: builtInPlans });
