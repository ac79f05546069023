// The tree of an expression. The checker writes types and overloads into it; `at` is the offset that messages point at.
import type { CelType } from './cel-type.ts';
import type { Value } from './value.ts';

interface Node {
  readonly at: number;
  /** Of the checker. */
  type?: CelType;
}
export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: Value;
}
export interface Ident extends Node {
  readonly kind: 'ident';
  readonly name: string;
  /** Of the checker: what the name stands for. */
  reference?: Reference;
}
export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly test: boolean;
  /** Of the checker: the whole chain is one name. */
  reference?: Reference;
}
export interface Call extends Node {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
  /** Of the checker: the function, its overloads that fit, and whether the target was part of its name. */
  resolved?: { readonly name: string; readonly overloads: readonly string[]; readonly namespaced: boolean };
}
export interface ListExpr extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** Indices of `[?x]`. */
  readonly optional: ReadonlySet<number>;
}
export interface MapEntry {
  readonly at: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface MapExpr extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}
export interface StructField {
  readonly at: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface StructExpr extends Node {
  readonly kind: 'struct';
  readonly name: string;
  readonly fields: readonly StructField[];
  /** Of the checker: the type's full name. */
  resolved?: string;
}
/** What macros become: a loop over a range with an accumulator. */
export interface Fold extends Node {
  readonly kind: 'fold';
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}
export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Fold;

/** A variable by its full name, or a constant. */
export interface Reference {
  readonly name: string;
  readonly constant?: Value;
}

/** Operators are functions of these names. */
export const operators = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  equals: '_==_',
  notEquals: '_!=_',
  add: '_+_',
  negate: '-_',
  index: '_[_]',
  optionalIndex: '_[?_]',
  optionalSelect: '_?._',
  notStrictlyFalse: '@not_strictly_false',
  in: '@in',
} as const;

/** No name that can be written: programs cannot reach it. */
export const accumulator = '@result';

/** `a.b.c`, where the expression is a name. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** A copy that shares nothing with it. */
export function copyExpr<T extends Expr>(expr: T): T;
export function copyExpr(expr: Expr): Expr {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return { ...expr };
    case 'select':
      return { ...expr, operand: copyExpr(expr.operand) };
    case 'call':
      return {
        ...expr,
        target: expr.target && copyExpr(expr.target),
        args: expr.args.map((arg) => copyExpr(arg)),
      };
    case 'list':
      return { ...expr, elements: expr.elements.map((element) => copyExpr(element)) };
    case 'map':
      return {
        ...expr,
        entries: expr.entries.map((entry) => ({
          ...entry,
          key: copyExpr(entry.key),
          value: copyExpr(entry.value),
        })),
      };
    case 'struct':
      return { ...expr, fields: expr.fields.map((field) => ({ ...field, value: copyExpr(field.value) })) };
    case 'fold':
      return {
        ...expr,
        range: copyExpr(expr.range),
        init: copyExpr(expr.init),
        condition: copyExpr(expr.condition),
        step: copyExpr(expr.step),
        result: copyExpr(expr.result),
      };
  }
}

/** The expressions of which it is made. */
export function subexpressions(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map((field) => field.value);
    case 'fold':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
  }
}
