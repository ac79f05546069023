// Types of an expression: finds what names and calls mean, and tells what does not fit in cel-go's words.
import {
  type Call,
  type Expr,
  type Fold,
  type Ident,
  type ListExpr,
  type MapExpr,
  operators,
  qualifiedName,
  type Select,
  type StructExpr,
} from './ast.ts';
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  formatType,
  intType,
  isExactType,
  listOf,
  mapOf,
  optionalOf,
  typeParam,
} from './cel-type.ts';
import type { FunctionDeclaration, Overload } from './declarations.ts';
import type { Environment } from './environment.ts';
import type { Issues } from './source.ts';
import {
  formatArguments,
  isDyn,
  isDynOrError,
  mostGeneral,
  type Substitutions,
  substitute,
  unify,
  unwrapOptional,
} from './type-unification.ts';
import { runtimeType } from './value.ts';

/** Writes types, references and overloads into the tree. The type of the whole. */
export function checkExpression(expr: Expr, environment: Environment, issues: Issues): CelType {
  const checker = new Checker(environment, issues);
  checker.check(expr);
  checker.settle();
  return expr.type!;
}

type Scope = ReadonlyMap<string, CelType>;

class Checker {
  private readonly environment: Environment;
  private readonly issues: Issues;
  private known: Substitutions = new Map();
  private readonly checked: Expr[] = [];
  private readonly scopes: Scope[] = [];
  private fresh = 0;

  constructor(environment: Environment, issues: Issues) {
    this.environment = environment;
    this.issues = issues;
  }

  /** Parameters that stand for nothing are dyn. */
  settle(): void {
    for (const expr of this.checked) expr.type = substitute(this.known, expr.type!, true);
  }

  check(expr: Expr): CelType {
    expr.type = this.typeOfExpr(expr);
    this.checked.push(expr);
    return expr.type;
  }

  private typeOfExpr(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return runtimeType(expr.value);
      case 'ident':
        return this.ident(expr);
      case 'select':
        return this.select(expr);
      case 'call':
        return this.call(expr);
      case 'list':
        return this.list(expr);
      case 'map':
        return this.map(expr);
      case 'struct':
        return this.struct(expr);
      case 'fold':
        return this.fold(expr);
    }
  }

  private undeclared(at: number, name: string): CelType {
    this.issues.report(
      at,
      `undeclared reference to '${name}' (in container '${this.environment.container}')`,
    );
    return errorType;
  }

  /** Writes down what the name stands for. */
  private resolve(expr: Ident | Select, name: string): CelType | undefined {
    for (const candidate of this.environment.candidates(name)) {
      const variable = this.inScope(candidate) ?? this.environment.variable(candidate);
      if (variable) {
        expr.reference = { name: candidate };
        return variable;
      }
      const type = this.environment.typeNamed(candidate);
      if (type) {
        expr.reference = { name: candidate, constant: type.params[0]! };
        return type;
      }
    }
    return undefined;
  }
  private inScope(name: string): CelType | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i]!.get(name);
      if (found) return found;
    }
    return undefined;
  }

  private ident(expr: Ident): CelType {
    return this.resolve(expr, expr.name) ?? this.undeclared(expr.at, expr.name);
  }

  private select(expr: Select): CelType {
    const name = qualifiedName(expr);
    const whole = name === undefined ? undefined : this.resolve(expr, name);
    if (whole) return whole;
    const field = this.field(expr.at, expr.operand, expr.field, false);
    return expr.test ? boolType : substitute(this.known, field, false);
  }

  private field(at: number, operand: Expr, name: string, optional: boolean): CelType {
    const operandType = substitute(this.known, this.check(operand), false);
    const inner = unwrapOptional(operandType);
    const result = this.fieldOf(at, inner ?? operandType, name);
    return inner || optional ? optionalOf(result) : result;
  }

  private fieldOf(at: number, target: CelType, name: string): CelType {
    if (target.kind === 'map') return target.params[1]!;
    if (target.kind === 'struct') return this.structField(at, target.name, name);
    if (target.kind === 'param') this.assign(dynType, target);
    else if (!isDynOrError(target))
      this.issues.report(at, `type '${formatType(target)}' does not support field selection`);
    return dynType;
  }

  private structField(at: number, type: string, name: string): CelType {
    if (!this.environment.types?.findType(type)) {
      this.issues.report(at, `unexpected failed resolution of '${type}'`);
      return errorType;
    }
    const field = this.environment.types.findField(type, name);
    if (!field) this.issues.report(at, `undefined field '${name}'`);
    return field ?? errorType;
  }

  private optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args;
    const name = field!.kind === 'literal' && typeof field!.value === 'string' ? field!.value : '';
    const result = this.field(expr.at, operand!, name, true);
    expr.resolved = { name: expr.name, overloads: ['select_optional_field'], namespaced: false };
    return substitute(this.known, result, false);
  }

  private call(expr: Call): CelType {
    if (expr.name === operators.optionalSelect) return this.optionalSelect(expr);
    for (const arg of expr.args) this.check(arg);
    if (!expr.target) {
      const found = this.environment.findFunction(expr.name);
      return found ? this.resolveCall(expr, found, undefined) : this.undeclared(expr.at, expr.name);
    }
    // `math.greatest(...)`: a function whose name has a dot.
    const prefix = qualifiedName(expr.target);
    const whole = prefix === undefined ? undefined : this.environment.findFunction(`${prefix}.${expr.name}`);
    if (whole) return this.resolveCall(expr, whole, undefined);
    this.check(expr.target);
    const found = this.environment.findFunction(expr.name);
    return found ? this.resolveCall(expr, found, expr.target) : this.undeclared(expr.at, expr.name);
  }

  private resolveCall(expr: Call, declared: FunctionDeclaration, target: Expr | undefined): CelType {
    const operands = target ? [target, ...expr.args] : expr.args;
    const types = operands.map((operand) => operand.type!);
    const namespaced = expr.target !== undefined && target === undefined;
    if (declared.name === operators.and || declared.name === operators.or)
      return this.logical(expr, declared, types);
    let result: CelType | undefined;
    const overloads: string[] = [];
    for (const overload of declared.overloads) {
      if ((overload.member === true) !== (target !== undefined)) continue;
      const fits = this.tryOverload(overload, types);
      if (!fits) continue;
      overloads.push(overload.id);
      if (result === undefined) result = fits;
      else if (!isDyn(result) && !isExactType(fits, result)) result = dynType;
    }
    if (result) {
      expr.resolved = { name: declared.name, overloads, namespaced };
      return result;
    }
    const given = types.map((type) => substitute(this.known, type, true));
    this.issues.report(
      expr.at,
      `found no matching overload for '${declared.name}' applied to '${formatArguments(given, target !== undefined)}'`,
    );
    return errorType;
  }

  private logical(expr: Call, declared: FunctionDeclaration, types: readonly CelType[]): CelType {
    let result = boolType;
    types.forEach((type, i) => {
      if (this.assign(type, boolType)) return;
      this.mismatch(expr.args[i]!.at, boolType, type);
      result = errorType;
    });
    if (result === boolType)
      expr.resolved = { name: declared.name, overloads: [declared.overloads[0]!.id], namespaced: false };
    return result;
  }

  /** Its result, when arguments of these types may be given. */
  private tryOverload(overload: Overload, types: readonly CelType[]): CelType | undefined {
    const fresh = new Map<string, CelType>();
    const renew = (type: CelType): void => {
      if (type.kind === 'param' && !fresh.has(type.name)) fresh.set(type.name, this.freshParam());
      type.params.forEach(renew);
    };
    renew(overload.result);
    overload.params.forEach(renew);
    const params = overload.params.map((param) => substitute(fresh, param, false));
    const known = unify(this.known, types, params);
    if (!known) return undefined;
    this.known = known;
    return substitute(known, substitute(fresh, overload.result, false), false);
  }
  private freshParam(): CelType {
    return typeParam(`_var${this.fresh++}`);
  }

  private assign(from: CelType, to: CelType): boolean {
    const known = unify(this.known, [from], [to]);
    if (known) this.known = known;
    return known !== undefined;
  }
  private mismatch(at: number, expected: CelType, actual: CelType): void {
    this.issues.report(at, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  }

  /** The type of an element or entry; of what an optional one holds. */
  private element(expr: Expr, optional: boolean): CelType {
    const type = this.check(expr);
    if (!optional) return type;
    const inner = unwrapOptional(type);
    if (!inner && !isDyn(type)) this.mismatch(expr.at, optionalOf(type), type);
    return inner ?? type;
  }

  /** Elements that have no type in common are dyn. */
  private join(before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type;
    return this.assign(before, type) ? mostGeneral(before, type) : dynType;
  }

  private list(expr: ListExpr): CelType {
    let elements: CelType | undefined;
    expr.elements.forEach((element, i) => {
      elements = this.join(elements, this.element(element, expr.optional.has(i)));
    });
    return listOf(elements ?? this.freshParam());
  }

  private map(expr: MapExpr): CelType {
    let keys: CelType | undefined;
    let values: CelType | undefined;
    for (const { key, value, optional } of expr.entries) {
      keys = this.join(keys, this.check(key));
      values = this.join(values, this.element(value, optional));
    }
    return mapOf(keys ?? this.freshParam(), values ?? this.freshParam());
  }

  private struct(expr: StructExpr): CelType {
    const name = this.environment
      .candidates(expr.name)
      .find((candidate) => this.environment.typeNamed(candidate) ?? this.environment.variable(candidate));
    if (name === undefined) return this.undeclared(expr.at, expr.name);
    const type = this.environment.typeNamed(name)?.params[0];
    if (!type) this.issues.report(expr.at, `'${formatType(this.environment.variable(name)!)}' is not a type`);
    else if (type.kind !== 'struct')
      this.issues.report(expr.at, `'${formatType(type)}' is not a message type`);
    const isObject = type?.kind === 'struct';
    for (const field of expr.fields) {
      const given = this.element(field.value, field.optional);
      const wanted = this.structField(field.at, name, field.name);
      if (!this.assign(wanted, given))
        this.issues.report(
          field.at,
          `expected type of field '${field.name}' is '${formatType(wanted)}' but provided type is '${formatType(given)}'`,
        );
    }
    expr.resolved = name;
    return isObject ? type : errorType;
  }

  private fold(expr: Fold): CelType {
    this.check(expr.range);
    const accumulated = this.check(expr.init);
    this.scopes.push(new Map([[expr.accuVar, accumulated]]));
    const [first, second] = this.iterated(expr);
    const variables = new Map([[expr.iterVar, first]]);
    if (expr.iterVar2 !== undefined) variables.set(expr.iterVar2, second);
    this.scopes.push(variables);
    this.assertType(expr.condition, boolType);
    this.assertType(expr.step, accumulated);
    this.scopes.pop();
    const result = this.check(expr.result);
    this.scopes.pop();
    return substitute(this.known, result, false);
  }
  private assertType(expr: Expr, type: CelType): void {
    const actual = this.check(expr);
    if (!this.assign(type, actual)) this.mismatch(expr.at, type, actual);
  }

  /** The types of the variables of a loop: element, or index and element, or key, or key and value. */
  private iterated(expr: Fold): [CelType, CelType] {
    const range = substitute(this.known, expr.range.type!, false);
    const isPair = expr.iterVar2 !== undefined;
    switch (range.kind) {
      case 'list':
        return isPair ? [intType, range.params[0]!] : [range.params[0]!, range.params[0]!];
      case 'map':
        return [range.params[0]!, range.params[1]!];
      case 'dyn':
      case 'error':
      case 'param':
        this.assign(dynType, range);
        return [dynType, dynType];
      default:
        this.issues.report(
          expr.range.at,
          `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [errorType, errorType];
    }
  }
}
