// A pod template in one form, whoever it comes from: without Go's zero values, as they were once stored, and with or without nulls.
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { schemaSource } from '../../api/schema-source.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { dropNils, withNils } from '../../apimachinery/nil-values.ts';
import type { PlanSource } from '../../apimachinery/plan.ts';
import { createPlans } from '../../apimachinery/schema-plan.ts';
import { dropZeros } from '../../apimachinery/zero-values.ts';
import { atOnce } from '../../base/turns.ts';

const type = 'io.k8s.api.core.v1.PodTemplateSpec';
let made: PlanSource | undefined;
const plans = (): PlanSource => {
  made ??= createPlans(schemaSource);
  return made;
};

/** A copy. It is only asked for where no template is equal as it stands. */
export function plainTemplate<T extends PodTemplateSpec | undefined>(template: T): T {
  const copy = structuredClone(template);
  if (copy === undefined) return copy;
  dropZeros(plans(), type, copy as unknown as JsonObject);
  atOnce(dropNils(plans(), type, copy as unknown as JsonObject));
  return copy;
}

/** As it is stored and Go writes it. A watch of this process may still tell of it as its writer had it, without nulls. */
export const storedTemplate = (template: PodTemplateSpec): PodTemplateSpec =>
  atOnce(withNils(plans(), type, template as unknown as JsonObject)) as unknown as PodTemplateSpec;
