// A pod template without Go's zero values: one that was stored before they were left out is no other template.
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { schemaSource } from '../../api/schema-source.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { PlanSource } from '../../apimachinery/plan.ts';
import { createPlans } from '../../apimachinery/schema-plan.ts';
import { dropZeros } from '../../apimachinery/zero-values.ts';

let plans: PlanSource | undefined;

/** A copy. It is only asked for where no template is equal as it stands. */
export function plainTemplate<T extends PodTemplateSpec | undefined>(template: T): T {
  const copy = structuredClone(template);
  plans ??= createPlans(schemaSource);
  if (copy !== undefined)
    dropZeros(plans, 'io.k8s.api.core.v1.PodTemplateSpec', copy as unknown as JsonObject);
  return copy;
}
