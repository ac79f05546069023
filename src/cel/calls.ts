// Calls of functions and operators: which implementation, with which look at the types of arguments, at which cost.
import { type Call, operators } from './ast.ts';
import { attribute, computedQualifier, conditionalAttribute, constantQualifier } from './attributes.ts';
import { type CelType, dynType } from './cel-type.ts';
import type { FunctionDeclaration, Overload } from './declarations.ts';
import { equalValues } from './equality.ts';
import { traversalFactor } from './estimate.ts';
import type { Frame, Step } from './frame.ts';
import { membershipOf } from './membership.ts';
import {
  attributePlan,
  constantOrRefuse,
  constantPlan,
  type Plan,
  PlanError,
  type Planning,
} from './plan.ts';
import { comparisonCost, type RuntimeCost, standardRuntimeCost } from './runtime-cost.ts';
import { CelError, CelList, CelMap, noSuchOverload, Opaque, runtimeType, type Value } from './value.ts';

type Implementation = (...args: Value[]) => Value;

export function planCall(planning: Planning, expr: Call): Plan {
  const hasTarget = expr.target !== undefined && expr.resolved?.namespaced !== true;
  const operands = (hasTarget ? [expr.target!, ...expr.args] : expr.args).map((arg) => planning.plan(arg));
  switch (expr.resolved?.name ?? expr.name) {
    case operators.and:
      return { step: logicalStep(operands, false) };
    case operators.or:
      return { step: logicalStep(operands, true) };
    case operators.conditional:
      return conditional(operands);
    case operators.equals:
      return { step: comparisonStep(operands, equalOrFault, comparisonCost) };
    case operators.notEquals:
      return { step: comparisonStep(operands, (a, b) => !equalValues(a, b), comparisonCost) };
    case operators.index:
      return indexed(operands, false);
    case operators.optionalIndex:
    case operators.optionalSelect:
      return indexed(operands, true);
    default:
      return functionCall(planning, expr, operands);
  }
}

/** Decided by the first operand that is `absorbing`, wherever it stands; else the first error is the result. */
function logicalStep(operands: readonly Plan[], absorbing: boolean): Step {
  const [left, right] = operands.map((operand) => operand.step) as [Step, Step];
  return (frame) => {
    const a = left(frame);
    if (a === absorbing) return absorbing;
    const b = right(frame);
    if (b === absorbing) return absorbing;
    if (a !== !absorbing) return a instanceof CelError ? a : noSuchOverload;
    if (b !== !absorbing) return b instanceof CelError ? b : noSuchOverload;
    return !absorbing;
  };
}

function conditional(operands: readonly Plan[]): Plan {
  const [condition, whenTrue, whenFalse] = operands as [Plan, Plan, Plan];
  const branch = (plan: Plan) => plan.attribute ?? attribute(plan.step);
  return attributePlan(conditionalAttribute(condition.step, branch(whenTrue), branch(whenFalse)));
}

/** A library's value on the left is equal to its own kind, or nothing, or that is no question; on the right it just differs. */
function equalOrFault(a: Value, b: Value): boolean | CelError {
  if (a instanceof Opaque && b !== null && a.type !== dynType && a.type.name !== runtimeType(b).name)
    return noSuchOverload;
  return equalValues(a, b);
}

function comparisonStep(
  operands: readonly Plan[],
  compare: (a: Value, b: Value) => boolean | CelError,
  cost: (a: Value, b: Value) => number,
): Step {
  const [left, right] = operands.map((operand) => operand.step) as [Step, Step];
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    frame.charge(cost(a, b));
    if (a instanceof CelError) return a;
    return b instanceof CelError ? b : compare(a, b);
  };
}

function indexed(operands: readonly Plan[], optional: boolean): Plan {
  const [operand, key] = operands as [Plan, Plan];
  const qualifier =
    key.constant !== undefined
      ? constantQualifier(key.constant, optional)
      : computedQualifier(key.attribute?.resolve ?? key.step, optional);
  return attributePlan((operand.attribute ?? attribute(operand.step)).with(qualifier));
}

function functionCall(planning: Planning, expr: Call, operands: readonly Plan[]): Plan {
  const { environment } = planning;
  const declared = expr.resolved
    ? environment.functions.get(expr.resolved.name)
    : environment.findFunction(expr.name);
  if (!declared) throw new PlanError(`no such overload: ${expr.name}`);
  const overload = expr.resolved?.overloads.length === 1 ? expr.resolved.overloads[0]! : '';
  const constants = operands.map((operand) => operand.constant);
  if (declared.lazy) return { step: declared.lazy(operands.map((operand) => operand.step)) };
  if (overload === 'in_list' && constants[1] instanceof CelList) {
    const found = membershipOf(operands[0]!.step, constants[1]);
    if (found === false) return constantPlan(false);
    if (found) return { step: found };
  }
  const special = declared.specialize?.(constants);
  if (special instanceof CelError) throw new PlanError(special.message);
  const call = special ?? implementation(declared, overload);
  const cost = costOf(declared, overload);
  const steps = operands.map((operand) => operand.step);
  if (declared.paidFirst && cost) return { step: paidStep(steps, call, cost) };
  const reading = declared.name === 'size' ? countingFactor : traversalFactor;
  const step = callStep(steps, call, { cost, nonStrict: declared.nonStrict === true, reading });
  const isConversion = conversions.has(declared.name) && operands.length === 1;
  if (isConversion && constants[0] !== undefined) return constantOrRefuse(call(constants[0]));
  return { step };
}

/** Of a constant they are a constant. */
const conversions: ReadonlySet<string> = new Set([
  ...['bool', 'bytes', 'double', 'duration', 'dyn', 'int', 'string', 'timestamp', 'type', 'uint'],
]);

/** undefined: each call costs 1. */
function costOf(declared: FunctionDeclaration, overload: string): RuntimeCost | undefined {
  const standard = standardRuntimeCost(overload);
  const { cost } = declared;
  if (!cost) return standard;
  return (args, result) => cost(args, result, overload) ?? standard?.(args, result) ?? 1;
}

interface CallSettings {
  readonly cost: RuntimeCost | undefined;
  readonly nonStrict: boolean;
  /** Of each character of its texts. */
  readonly reading: number;
}

/** Characters are counted much faster than anything else is done with them. */
const countingFactor = traversalFactor / 8;
/** Shorter texts are not worth counting: each round of a loop costs something. */
const longText = 256;

function callStep(
  operands: readonly Step[],
  call: Implementation,
  { cost, nonStrict, reading }: CallSettings,
): Step {
  const finish = (frame: Frame, args: readonly Value[], result: Value): Value => {
    frame.charge(cost === undefined ? 1 : cost(args, result));
    return result;
  };
  const read = (frame: Frame, value: Value): void => {
    if (typeof value === 'string') {
      if (value.length > longText) frame.read(value.length * reading);
    } else if (value instanceof CelList && reading === traversalFactor) frame.read(value.size * reading);
  };
  const [first, second] = operands;
  if (operands.length === 1)
    return (frame) => {
      const a = first!(frame);
      read(frame, a);
      const result = a instanceof CelError && !nonStrict ? a : call(a);
      return cost === undefined ? finish(frame, none, result) : finish(frame, [a], result);
    };
  if (operands.length === 2)
    return (frame) => {
      const a = first!(frame);
      const b = second!(frame);
      read(frame, a);
      read(frame, b);
      const error = nonStrict ? undefined : a instanceof CelError ? a : b instanceof CelError ? b : undefined;
      const result = error ?? call(a, b);
      return cost === undefined ? finish(frame, none, result) : finish(frame, [a, b], result);
    };
  return (frame) => {
    const args: Value[] = [];
    for (const operand of operands) {
      const value = operand(frame);
      // What has not all its arguments is not called, and costs nothing.
      if (value instanceof CelError && !nonStrict && args.length < operands.length - 1) return value;
      read(frame, value);
      args.push(value);
    }
    const last = args.at(-1);
    return finish(frame, args, last instanceof CelError && !nonStrict ? last : call(...args));
  };
}
const none: readonly Value[] = [];

/** The cost is paid before the call. */
const paidStep =
  (operands: readonly Step[], call: Implementation, cost: RuntimeCost): Step =>
  (frame) => {
    const args: Value[] = [];
    for (const operand of operands) {
      const value = operand(frame);
      if (value instanceof CelError) return value;
      args.push(value);
    }
    frame.charge(cost(args, null));
    return call(...args);
  };

const noOverload = (name: string, args: readonly Value[]): CelError =>
  new CelError(`no such overload: ${name}(${args.map((arg) => runtimeType(arg).name).join(', ')})`);

/** The one that the checker chose, or one chosen by the types that arguments have when it runs. */
function implementation(declared: FunctionDeclaration, overload: string): Implementation {
  if (declared.dispatch) return declared.dispatch;
  const guarded = declared.unguarded !== true;
  const chosen = declared.overloads.find((one) => one.id === overload);
  if (chosen) return guarded ? guard(declared.name, chosen) : (chosen.call as unknown as Implementation);
  return (...args) => {
    const found = declared.overloads.find(
      (one) => one.params.length === args.length && (!guarded || accepts(one, args)),
    );
    return found ? (found.call as unknown as Implementation)(...args) : noOverload(declared.name, args);
  };
}

/** Looks at the types first: an object may not be what its schema says. */
function guard(name: string, overload: Overload): Implementation {
  const call = overload.call as unknown as Implementation;
  const [first, second] = overload.params;
  if (overload.params.length === 1) return (a) => (fits(first!, a!) ? call(a!) : noOverload(name, [a!]));
  if (overload.params.length === 2)
    return (a, b) => (fits(first!, a!) && fits(second!, b!) ? call(a!, b!) : noOverload(name, [a!, b!]));
  return (...args) => (accepts(overload, args) ? call(...args) : noOverload(name, args));
}

const accepts = (overload: Overload, args: readonly Value[]): boolean =>
  overload.params.every((param, i) => fits(param, args[i]!));

/** Of lists and maps the first element speaks for all. */
function fits(type: CelType, value: Value): boolean {
  const { kind } = type;
  if (kind === 'dyn' || kind === 'param') return true;
  if (type.name !== runtimeType(value).name) return false;
  if (value instanceof CelList) return value.size === 0 || fits(type.params[0]!, value.at(0));
  if (value instanceof CelMap && kind === 'map') {
    for (const key of value.keys())
      return fits(type.params[0]!, key) && fits(type.params[1]!, value.find(key)!);
  }
  return true;
}
