// Lists, maps and objects that are written down; constant ones are made once.
import type { ListExpr, MapExpr, StructExpr } from './ast.ts';
import { creationCosts } from './estimate.ts';
import type { Frame, Step } from './frame.ts';
import { constantOrRefuse, type Plan, type Planning } from './plan.ts';
import { CelError, mapKey, Optional, runtimeType, type Value, ValueList, ValueMap } from './value.ts';
import { formatValue } from './value-text.ts';

/** What an optional part holds; undefined for nothing. */
function unwrapped(value: Value, what: string): Value | undefined {
  if (value instanceof Optional) return value.value;
  return new CelError(`cannot initialize optional ${what} from non-optional value ${formatValue(value)}`);
}

const isConstant = (plan: Plan): boolean => plan.constant !== undefined;
/** Evaluated now where all parts are constants: then it costs nothing when it runs. */
function made(step: Step, parts: readonly Plan[], make: (frame: Frame | undefined) => Value): Plan {
  return parts.every(isConstant) ? constantOrRefuse(make(undefined)) : { step };
}
const givenValue = (plan: Plan, frame: Frame | undefined): Value =>
  frame ? plan.step(frame) : plan.constant!;

export function planList(planning: Planning, expr: ListExpr): Plan {
  const parts = expr.elements.map((element) => planning.plan(element));
  const make = (frame: Frame | undefined): Value => {
    const values: Value[] = [];
    for (let i = 0; i < parts.length; i++) {
      const value = givenValue(parts[i]!, frame);
      if (value instanceof CelError) return value;
      const element = expr.optional.has(i) ? unwrapped(value, 'list element') : value;
      if (element instanceof CelError) return element;
      if (element !== undefined) values.push(element);
    }
    return new ValueList(values);
  };
  return made(charging(make, creationCosts.list), parts, make);
}

const charging =
  (make: (frame: Frame) => Value, cost: number): Step =>
  (frame) => {
    const value = make(frame);
    frame.charge(cost);
    return value;
  };

export function planMap(planning: Planning, expr: MapExpr): Plan {
  const keys = expr.entries.map((entry) => planning.plan(entry.key));
  const values = expr.entries.map((entry) => planning.plan(entry.value));
  const make = (frame: Frame | undefined): Value => {
    const entries = new Map<string | bigint | boolean, readonly [Value, Value]>();
    for (let i = 0; i < keys.length; i++) {
      const key = givenValue(keys[i]!, frame);
      if (key instanceof CelError) return key;
      const given = givenValue(values[i]!, frame);
      if (given instanceof CelError) return given;
      const plain = mapKey(key);
      if (plain === undefined) return new CelError(`unsupported key type: ${runtimeType(key).name}`);
      const value = expr.entries[i]!.optional ? unwrapped(given, `entry '${formatValue(key)}'`) : given;
      if (value instanceof CelError) return value;
      if (value === undefined) entries.delete(plain);
      else entries.set(plain, [key, value]);
    }
    return new ValueMap(entries);
  };
  return made(charging(make, creationCosts.map), [...keys, ...values], make);
}

export function planStruct(planning: Planning, expr: StructExpr): Plan {
  const parts = expr.fields.map((field) => planning.plan(field.value));
  const name = expr.resolved ?? expr.name;
  const { types } = planning.environment;
  const make = (frame: Frame): Value => {
    const fields = new Map<string, Value>();
    for (let i = 0; i < parts.length; i++) {
      const field = expr.fields[i]!;
      const given = parts[i]!.step(frame);
      if (given instanceof CelError) return given;
      const value = field.optional ? unwrapped(given, `entry '${field.name}'`) : given;
      if (value instanceof CelError) return value;
      if (value !== undefined) fields.set(field.name, value);
    }
    return types?.build?.(name, fields) ?? new CelError(`unknown type '${name}'`);
  };
  return { step: charging(make, creationCosts.struct) };
}
