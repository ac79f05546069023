// Takes out of an object what Go's zero values are and Go leaves out: of what was stored before that was done to each write.
import { isZeroScalar, type Json, type JsonObject } from './json.ts';
import type { PlanNode, PlanSource } from './plan.ts';

/** In place. */
export function dropZeros(plans: PlanSource, type: string, object: JsonObject): void {
  const plan = plans.plan(type);
  if (plan?.kind === 'struct') dropIn(plan, object);
}

function dropIn(node: PlanNode, value: Json | undefined): void {
  if (typeof value !== 'object' || value === null) return;
  if (node.kind === 'array' && Array.isArray(value)) for (const item of value) dropIn(node.items, item);
  else if (Array.isArray(value)) return;
  else if (node.kind === 'map') for (const key in value) dropIn(node.values, value[key]);
  else if (node.kind === 'struct')
    for (const key in value) {
      const field = node.fields.get(key);
      if (field === undefined) continue;
      if (field.omitsZero && isZeroScalar(value[key])) delete value[key];
      else dropIn(field.node, value[key]);
    }
}
