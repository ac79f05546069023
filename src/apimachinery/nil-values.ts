// What Go writes as null where it has nothing: lists and pointers without `omitempty`. Stored and served so; in between, what is nothing is not there.
import type { Steps } from '../base/turns.ts';
import type { Json, JsonObject } from './json.ts';
import type { PlanNode, PlanSource, StructPlan } from './plan.ts';

/** The way to such fields, and nothing else of a type: there are few. */
interface NilFields {
  readonly here: readonly string[];
  readonly below: readonly (readonly [name: string, fields: NilFields])[];
}

/** undefined: a type has none. No type that contains itself has any. */
const known = new WeakMap<StructPlan, NilFields | undefined>();

function nilFields(plan: StructPlan): NilFields | undefined {
  if (known.has(plan)) return known.get(plan);
  known.set(plan, undefined);
  const here: string[] = [];
  const below: [string, NilFields][] = [];
  for (const { name, node, schema } of plan.fields.values()) {
    if (schema.servesNull === true) here.push(name);
    const struct = structOf(node);
    const fields = struct && nilFields(struct);
    if (fields !== undefined) below.push([name, fields]);
  }
  const found = here.length + below.length === 0 ? undefined : { here, below };
  known.set(plan, found);
  return found;
}

const structOf = (node: PlanNode): StructPlan | undefined =>
  node.kind === 'struct' ? node : node.kind === 'array' ? structOf(node.items) : undefined;

const fieldsOf = (plans: PlanSource, type: string): NilFields | undefined => {
  const plan = plans.plan(type);
  return plan?.kind === 'struct' ? nilFields(plan) : undefined;
};

/** The object with null where there is nothing; what changes is copied, for others hold what is given. */
export function* withNils(plans: PlanSource, type: string, object: JsonObject): Steps<JsonObject> {
  const fields = fieldsOf(plans, type);
  return fields === undefined ? object : yield* filled(fields, object);
}

function* filled(fields: NilFields, object: JsonObject): Steps<JsonObject> {
  let made = object;
  const put = (name: string, value: Json): void => {
    if (made === object) made = { ...object };
    made[name] = value;
  };
  for (const name of fields.here) if (isNil(object[name])) put(name, null);
  for (const [name, inner] of fields.below) {
    const value = object[name];
    const next = Array.isArray(value) ? yield* filledList(inner, value) : yield* filledItem(inner, value);
    if (next !== undefined && next !== value) put(name, next);
  }
  return made;
}

/** Go's protobuf, in which objects are stored, does not know an empty list from none. */
const isNil = (value: Json | undefined): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

function* filledItem(fields: NilFields, value: Json | undefined): Steps<Json | undefined> {
  if (typeof value !== 'object' || value === null) return value;
  return yield* filled(fields, value as JsonObject);
}

/** Values that are looked at in one step: less than a millisecond's. */
const stepValues = 1_000;

function* filledList(fields: NilFields, list: readonly Json[]): Steps<Json> {
  let made: Json[] | undefined;
  for (let i = 0; i < list.length; i++) {
    if (i % stepValues === stepValues - 1) yield;
    const next = yield* filledItem(fields, list[i]);
    if (next === list[i]) continue;
    made ??= [...list];
    made[i] = next!;
  }
  return made ?? (list as Json[]);
}

/** Takes them out again, in place. */
export function* dropNils(plans: PlanSource, type: string, object: JsonObject): Steps<void> {
  const fields = fieldsOf(plans, type);
  if (fields !== undefined) yield* dropped(fields, object);
}

function* dropped(fields: NilFields, value: Json | undefined): Steps<void> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (i % stepValues === stepValues - 1) yield;
      yield* dropped(fields, value[i]);
    }
    return;
  }
  const object = value as JsonObject;
  for (const name of fields.here) if (object[name] === null) delete object[name];
  for (const [name, inner] of fields.below) yield* dropped(inner, object[name]);
}
