// A pod template in one form, whoever it comes from: without Go's zero values, as they were once stored, and with or without nulls.
import { builtInPlans } from '../../api/built-in-plans.ts';
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { dropNils, withNils } from '../../apimachinery/nil-values.ts';
import { dropZeros } from '../../apimachinery/zero-values.ts';
import { atOnce } from '../../base/turns.ts';

const type = 'io.k8s.api.core.v1.PodTemplateSpec';

/** A copy. It is only asked for where no template is equal as it stands. */
export function plainTemplate<T extends PodTemplateSpec | undefined>(template: T): T {
  const copy = structuredClone(template);
  if (copy === undefined) return copy;
  dropZeros(builtInPlans(), type, copy as unknown as JsonObject);
  atOnce(dropNils(builtInPlans(), type, copy as unknown as JsonObject));
  return copy;
}

/** As it is stored and Go writes it. A watch of this process may still tell of it as its writer had it, without nulls. */
export const storedTemplate = (template: PodTemplateSpec): PodTemplateSpec =>
  atOnce(withNils(builtInPlans(), type, template as unknown as JsonObject)) as unknown as PodTemplateSpec;
