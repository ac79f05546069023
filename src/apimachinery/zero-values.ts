// Takes out of an object what Go's zero values are and Go leaves out: of what was stored before that was done to each write.
import { atOnce, type Steps } from '../base/turns.ts';
import { isZeroScalar, type Json, type JsonObject } from './json.ts';
import type { PlanNode, PlanSource } from './plan.ts';

/** In place. */
export function dropZeros(plans: PlanSource, type: string, object: JsonObject): void {
  atOnce(dropZerosSteps(plans, type, object));
}

/** Values that are looked at in one step: less than a millisecond's. */
const stepValues = 2_000;

/** In place, for large objects. */
export function* dropZerosSteps(plans: PlanSource, type: string, object: JsonObject): Steps<void> {
  const plan = plans.plan(type);
  if (plan?.kind !== 'struct') return;
  const waiting: Waiting[] = [{ node: plan, value: object }];
  let seen = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    seen += dropHere(next, waiting);
    if (seen >= stepValues) {
      seen = 0;
      yield;
    }
  }
}

interface Waiting {
  readonly node: PlanNode;
  readonly value: JsonObject | readonly Json[];
  /** Of a list: those before it are done. */
  readonly from?: number;
}

/** Of one list or object, or a part of a long list; what it holds is put to what waits. Answers how much that was. */
function dropHere({ node, value, from = 0 }: Waiting, waiting: Waiting[]): number {
  const later = (inner: PlanNode, one: Json | undefined): void => {
    if (typeof one === 'object' && one !== null) waiting.push({ node: inner, value: one });
  };
  if (isList(value)) {
    if (node.kind !== 'array') return 1;
    const end = Math.min(value.length, from + stepValues);
    if (end < value.length) waiting.push({ node, value, from: end });
    for (let i = from; i < end; i++) later(node.items, value[i]);
    return end - from + 1;
  }
  if (node.kind === 'map') {
    waiting.push({ node: { kind: 'array', items: node.values }, value: Object.values(value) as Json[] });
    return 1;
  }
  let seen = 1;
  if (node.kind === 'struct')
    for (const key in value) {
      const field = node.fields.get(key);
      seen++;
      if (field?.omitsZero && isZeroScalar(value[key])) delete value[key];
      else if (field !== undefined) later(field.node, value[key]);
    }
  return seen;
}

const isList = (value: JsonObject | readonly Json[]): value is readonly Json[] => Array.isArray(value);
