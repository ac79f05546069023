// Rules that the schema itself states: required fields are there, enumerated ones hold a known value.
import type { Json, JsonObject } from '../declaration.ts';
import type { FieldError } from '../field-error.ts';
import { notSupported, required } from '../field-error.ts';
import type { PlanNode, PlanSource, StructPlan } from '../plan.ts';

/** Texts that may be empty although they must be there. */
const mayBeEmpty = new Set([
  'value',
  'message',
  'reason',
  'token',
  'audience',
  'service',
  'apiGroup',
  'group',
  'pdName',
]);
/**
 * Lists that may be empty: a client in Go sends none of nothing as null, which is no fault. And what a rule of its own
 * tells of by another name.
 */
const mayBeMissing = new Set(['drivers', 'limits', 'pdName']);
const maxErrors = 50;

/** Walks everything but metadata and status, which have their own rules. */
export function schemaErrors(plans: PlanSource, type: string, object: JsonObject): FieldError[] {
  const plan = plans.plan(type);
  const errors: FieldError[] = [];
  // Most objects have no fault: whether there is one is asked first, and only then where.
  if (plan?.kind !== 'struct' || !hasFault(plan, object, true)) return errors;
  checkStruct(plan, object, '', errors, true);
  return errors;
}

const isApart = (field: string): boolean => field === 'metadata' || field === 'status';

function hasFault(plan: StructPlan, object: JsonObject, root: boolean): boolean {
  for (const name of plan.required)
    if (!(root && isApart(name)) && isMissing(object[name], name)) return true;
  for (const name in object) {
    if (root && isApart(name)) continue;
    const value = object[name];
    const node = plan.fields.get(name)?.node;
    if (node !== undefined && value && hasFaultyValue(node, value)) return true;
  }
  return false;
}

const isMissing = (value: Json | undefined, name: string): boolean =>
  value === undefined || value === null ? !mayBeMissing.has(name) : value === '' && !mayBeEmpty.has(name);

function hasFaultyValue(node: PlanNode, value: Json | undefined): boolean {
  if (value === undefined || value === null) return false;
  switch (node.kind) {
    case 'scalar':
      return node.enum !== undefined && !node.enum.includes(value as string);
    case 'struct':
      return hasFault(node, value as JsonObject, false);
    case 'array':
      for (const item of value as readonly Json[]) if (hasFaultyValue(node.items, item)) return true;
      return false;
    case 'map':
      if (node.values.kind === 'scalar' || node.values.kind === 'bytes') return false;
      for (const key in value as JsonObject)
        if (hasFaultyValue(node.values, (value as JsonObject)[key])) return true;
      return false;
    default:
      return false;
  }
}

function checkStruct(
  plan: StructPlan,
  object: JsonObject,
  path: string,
  errors: FieldError[],
  root: boolean,
): void {
  for (const field of plan.fields.values()) {
    if (root && isApart(field.name)) continue;
    if (errors.length >= maxErrors) return;
    const at = path === '' ? field.name : `${path}.${field.name}`;
    const value = Object.hasOwn(object, field.name) ? object[field.name] : undefined;
    if (value === undefined || value === null) {
      if (field.required && !mayBeMissing.has(field.name)) errors.push(required(at));
    } else if (value === '' && field.node.kind === 'scalar') {
      if (field.required && !mayBeEmpty.has(field.name)) errors.push(required(at));
    } else checkValue(field.node, value, at, errors);
  }
}

function checkValue(node: PlanNode, value: Json, path: string, errors: FieldError[]): void {
  if (node.kind === 'scalar') {
    if (node.enum && typeof value === 'string' && !node.enum.includes(value))
      errors.push(notSupported(path, value, node.enum));
  } else if (node.kind === 'struct') {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      checkStruct(node, value, path, errors, false);
  } else if (node.kind === 'array' && Array.isArray(value)) {
    for (let i = 0; i < value.length && errors.length < maxErrors; i++) {
      const item = value[i];
      if (item !== null && item !== undefined) checkValue(node.items, item, `${path}[${i}]`, errors);
    }
  } else if (
    node.kind === 'map' &&
    node.values.kind !== 'scalar' &&
    node.values.kind !== 'bytes' &&
    typeof value === 'object' &&
    value !== null
  )
    for (const [key, item] of Object.entries(value))
      if (item !== null && item !== undefined) checkValue(node.values, item, `${path}[${key}]`, errors);
}
