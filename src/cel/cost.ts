// What an expression may cost, before it runs: the least and the most, as cel-go's checker estimates it.
import {
  accumulator,
  type Call,
  type Expr,
  type Fold,
  type ListExpr,
  type MapExpr,
  operators,
} from './ast.ts';
import type { CelType } from './cel-type.ts';
import type { Environment } from './environment.ts';
import {
  type CallEstimate,
  type CallSite,
  type CostNode,
  creationCosts,
  type Estimate,
  fixed,
  nothing,
  plus,
  regexFactor,
  type SizeHints,
  scaled,
  times,
  traversalFactor,
  unionOf,
  unknownSize,
  unlimited,
} from './estimate.ts';
import { unwrapOptional } from './type-unification.ts';
import { valueSize } from './value.ts';

/** Of keys and values of a list or map that the expression made. */
interface EntrySizes {
  readonly container: 'list' | 'map';
  readonly key: Estimate;
  readonly value: Estimate;
}
const unionEntries = (a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined =>
  a && b && { container: a.container, key: unionOf(a.key, b.key), value: unionOf(a.value, b.value) };

interface Local {
  readonly path: readonly string[] | undefined;
  readonly size: Estimate | undefined;
  readonly entries: EntrySizes | undefined;
}

/** Of a checked expression. */
export function estimateCost(
  expr: Expr,
  environment: Environment,
  hints: SizeHints = () => undefined,
): Estimate {
  return new Coster(environment, hints).cost(expr);
}

class Coster {
  private readonly environment: Environment;
  private readonly hints: SizeHints;
  private readonly paths = new Map<Expr, readonly string[] | undefined>();
  private readonly sizes = new Map<Expr, Estimate>();
  private readonly entrySizes = new Map<Expr, EntrySizes>();
  private readonly locals = new Map<string, Local[]>();

  constructor(environment: Environment, hints: SizeHints) {
    this.environment = environment;
    this.hints = hints;
  }

  cost(expr: Expr): Estimate {
    switch (expr.kind) {
      case 'literal':
        return nothing;
      case 'ident':
        this.paths.set(expr, this.local(expr.name) ? this.local(expr.name)!.path : [nameOf(expr)]);
        return fixed(1);
      case 'select':
        return this.select(expr);
      case 'call':
        return this.call(expr);
      case 'list':
        return this.list(expr);
      case 'map':
        return this.map(expr);
      case 'struct':
        return plus(fixed(creationCosts.struct), ...expr.fields.map((field) => this.cost(field.value)));
      case 'fold':
        return isBinding(expr) ? this.binding(expr) : this.fold(expr);
    }
  }

  private select(expr: Expr & { kind: 'select' }): Estimate {
    // A name with dots is one name.
    if (expr.reference) {
      this.paths.set(expr, [expr.reference.name]);
      return fixed(1);
    }
    const operand = this.cost(expr.operand);
    if (expr.test) return operand;
    const path = this.pathOf(expr.operand);
    this.paths.set(expr, path && [...path, expr.field]);
    const { kind } = expr.operand.type!;
    return kind === 'map' || kind === 'struct' || kind === 'param' ? plus(operand, fixed(1)) : operand;
  }

  private call(expr: Call): Estimate {
    if (expr.name === 'dyn' && expr.args.length === 1) {
      const cost = this.cost(expr.args[0]!);
      this.copySizes(expr, expr.args[0]!);
      return plus(fixed(1), cost);
    }
    const costs = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.node(arg));
    if (!expr.resolved) return nothing;
    const hasTarget = expr.target !== undefined && !expr.resolved.namespaced;
    const targetCost = hasTarget ? this.cost(expr.target!) : nothing;
    const target = hasTarget ? this.node(expr.target!) : undefined;
    let sum: Estimate = { min: unlimited, max: 0 };
    let size: Estimate | undefined;
    for (const overload of expr.resolved.overloads) {
      const call = { overload, target, args, sizeOf: (node: CostNode) => this.sizeOfNode(node) };
      const estimate = this.overloadCost(expr, call, costs);
      sum = unionOf(sum, estimate.cost);
      if (estimate.size) size = size ? unionOf(size, estimate.size) : estimate.size;
      if (overload === 'index_list' || overload === 'index_map') size = this.indexed(expr, overload);
      size ??= this.sizeOf(expr);
    }
    if (size) this.sizes.set(expr, size);
    return plus(targetCost, sum);
  }

  private indexed(expr: Call, overload: string): Estimate | undefined {
    const [container] = expr.args;
    const path = this.pathOf(container!);
    this.paths.set(expr, [...(path ?? []), overload === 'index_list' ? '@items' : '@values']);
    return this.entriesOf(container!)?.value;
  }

  private overloadCost(expr: Call, call: CallSite, costs: readonly Estimate[]): CallEstimate {
    const { name } = expr.resolved!;
    const own = this.ownEstimate(name, call);
    if (own) return { cost: plus(own.cost, ...costs), size: own.size };
    if (name === operators.and || name === operators.or)
      return { cost: { min: costs[0]!.min, max: plus(costs[0]!, costs[1]!).max } };
    if (name === operators.conditional) return this.conditional(expr, call, costs);
    const standard = this.standardCost(expr, call);
    return { cost: plus(standard.cost, ...costs), size: standard.size };
  }

  private ownEstimate(name: string, call: CallSite): CallEstimate | undefined {
    if (name === operators.equals) {
      const [left, right] = call.args;
      const equality = this.environment.equality.get(left!.type.name);
      return left!.type.name === right!.type.name ? equality?.(call) : undefined;
    }
    return this.environment.functions.get(name)?.estimate?.(call);
  }

  private conditional(expr: Call, call: CallSite, costs: readonly Estimate[]): CallEstimate {
    const [, whenTrue, whenFalse] = expr.args;
    const entries = unionEntries(this.entriesOf(whenTrue!), this.entriesOf(whenFalse!));
    if (entries) this.entrySizes.set(expr, entries);
    return {
      cost: plus(costs[0]!, unionOf(costs[1]!, costs[2]!)),
      size: unionOf(computed(call.args[1]!), computed(call.args[2]!)),
    };
  }

  /** What cel-go itself says of the functions of the language. */
  private standardCost(expr: Call, { overload, target, args }: CallSite): CallEstimate {
    const traversal = (node: CostNode): Estimate => scaled(computed(node), traversalFactor);
    switch (overload) {
      case 'string_format':
        return { cost: traversal(target!) };
      case 'string_to_bytes': {
        const size = computed(args[0]!);
        return { cost: traversal(args[0]!), size: { min: size.min, max: Math.min(unlimited, size.max * 4) } };
      }
      case 'bytes_to_string': {
        const size = computed(args[0]!);
        return { cost: traversal(args[0]!), size: { min: Math.floor(size.min / 4), max: size.max } };
      }
      case 'strings_quote': {
        const size = computed(args[0]!);
        return {
          cost: traversal(args[0]!),
          size: { min: size.min + 2, max: Math.min(unlimited, size.max * 2 + 2) },
        };
      }
      case 'starts_with_string':
      case 'ends_with_string':
        return { cost: traversal(args[0]!) };
      case 'in_list':
        return { cost: computed(args[1]!) };
      case 'matches_string': {
        const text = scaled(plus(computed(target!), fixed(1)), traversalFactor);
        return { cost: times(text, scaled(computed(args[0]!), regexFactor)) };
      }
      case 'contains_string':
        return { cost: times(traversal(target!), traversal(args[0]!)) };
      case 'add_string':
      case 'add_bytes':
      case 'add_list':
        return this.joined(expr, overload, args);
      default:
        return { cost: isComparison(overload) ? compared(args) : fixed(1) };
    }
  }

  private joined(expr: Call, overload: string, args: readonly CostNode[]): CallEstimate {
    const size = plus(computed(args[0]!), computed(args[1]!));
    const entries = unionEntries(this.entriesOf(expr.args[0]!), this.entriesOf(expr.args[1]!));
    if (entries) this.entrySizes.set(expr, entries);
    return { cost: overload === 'add_list' ? fixed(1) : scaled(size, traversalFactor), size };
  }

  private list(expr: ListExpr): Estimate {
    const costs = expr.elements.map((element) => this.cost(element));
    const value = this.unionOfSizes(expr.elements);
    this.entrySizes.set(expr, { container: 'list', key: fixed(1), value });
    return plus(fixed(creationCosts.list), ...costs);
  }

  private map(expr: MapExpr): Estimate {
    const costs = expr.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
    const key = this.unionOfSizes(expr.entries.map((entry) => entry.key));
    const value = this.unionOfSizes(expr.entries.map((entry) => entry.value));
    this.entrySizes.set(expr, { container: 'map', key, value });
    return plus(fixed(creationCosts.map), ...costs);
  }
  private unionOfSizes(all: readonly Expr[]): Estimate {
    const start = { min: all.length === 0 ? 0 : unlimited, max: 0 };
    return all.reduce((sum, expr) => unionOf(sum, this.sizeOf(expr) ?? unknownSize), start);
  }

  private fold(expr: Fold): Estimate {
    const before = plus(this.cost(expr.range), this.cost(expr.init));
    this.push(expr.accuVar, {
      path: this.pathOf(expr.init),
      size: this.sizeOf(expr.init),
      entries: this.entriesOf(expr.init),
    });
    this.pushVariables(expr);
    const loop = plus(this.cost(expr.condition), this.cost(expr.step));
    this.pop(expr.iterVar);
    if (expr.iterVar2 !== undefined) this.pop(expr.iterVar2);
    const after = this.cost(expr.result);
    this.pop(expr.accuVar);
    const count = this.sizeOf(expr.range) ?? unknownSize;
    this.setFoldSize(expr, count);
    return plus(before, after, times(count, loop));
  }

  private pushVariables({ range, iterVar, iterVar2 }: Fold): void {
    const entries = this.entriesOf(range);
    const isList = (entries?.container ?? range.type!.kind) === 'list';
    const path = this.pathOf(range);
    const part = (name: string, size: Estimate | undefined): Local => ({
      path: [...(path ?? []), name],
      size,
      entries: undefined,
    });
    const value = part(isList ? '@items' : '@values', entries?.value);
    const key = part(isList ? '@indices' : '@keys', entries?.key);
    this.push(iterVar, iterVar2 === undefined && isList ? value : key);
    if (iterVar2 !== undefined) this.push(iterVar2, value);
  }

  private setFoldSize(expr: Fold, count: Estimate): void {
    const { kind } = expr.init;
    if (kind === 'literal') this.sizes.set(expr, this.sizeOf(expr.init)!);
    if (kind !== 'list' && kind !== 'map') return;
    this.sizes.set(expr, count);
    const entries = this.entriesOf(expr.step);
    if (entries) this.entrySizes.set(expr, entries);
  }

  private binding(expr: Fold): Estimate {
    const before = plus(this.cost(expr.range), this.cost(expr.init));
    this.push(expr.accuVar, {
      path: this.pathOf(expr.init),
      size: this.sizeOf(expr.init),
      entries: this.entriesOf(expr.init),
    });
    const after = this.cost(expr.result);
    this.pop(expr.accuVar);
    this.copySizes(expr, expr.result);
    return plus(before, after);
  }

  private push(name: string, local: Local): void {
    const stack = this.locals.get(name);
    if (stack) stack.push(local);
    else this.locals.set(name, [local]);
  }
  private pop(name: string): void {
    this.locals.get(name)?.pop();
  }
  private local(name: string): Local | undefined {
    return this.locals.get(name)?.at(-1);
  }

  private pathOf(expr: Expr): readonly string[] | undefined {
    const local = expr.kind === 'ident' ? this.local(expr.name) : undefined;
    return local ? local.path : this.paths.get(expr);
  }
  private copySizes(to: Expr, from: Expr): void {
    const [size, entries] = [this.sizeOf(from), this.entriesOf(from)];
    if (size) this.sizes.set(to, size);
    if (entries) this.entrySizes.set(to, entries);
  }
  private entriesOf(expr: Expr): EntrySizes | undefined {
    return this.entrySizes.get(expr) ?? (expr.kind === 'ident' ? this.local(expr.name)?.entries : undefined);
  }

  private node(expr: Expr): CostNode {
    const path = this.pathOf(expr);
    const isOwn = path?.[0] === accumulator;
    return { path: isOwn ? undefined : path, type: expr.type!, expr, computedSize: this.sizeOf(expr) };
  }
  private sizeOfNode(node: CostNode): Estimate {
    return node.computedSize ?? this.hints(node) ?? unknownSize;
  }
  private sizeOf(expr: Expr): Estimate | undefined {
    const found = this.sizes.get(expr) ?? literalSize(expr);
    if (found) return found;
    const hinted = this.hints({ path: this.pathOf(expr), type: expr.type! });
    if (hinted) {
      this.sizes.set(expr, hinted);
      return hinted;
    }
    if (isScalar(expr.type!)) return fixed(1);
    return expr.kind === 'ident' ? this.local(expr.name)?.size : undefined;
  }
}

const nameOf = (expr: Expr & { kind: 'ident' }): string => expr.reference?.name ?? expr.name;
const computed = (node: CostNode): Estimate => node.computedSize ?? unknownSize;

const isComparison = (overload: string): boolean =>
  overload === 'equals' ||
  overload === 'not_equals' ||
  /^(?:less|greater)_(?:equals_)?(?:string|bytes)$/.test(overload);

function compared(args: readonly CostNode[]): Estimate {
  const most = Math.min(computed(args[0]!).max, computed(args[1]!).max);
  return scaled({ min: most > 0 ? 1 : 0, max: most }, traversalFactor);
}

function isBinding({ range, condition, accuVar }: Fold): boolean {
  const isEmpty = range.kind === 'list' && range.elements.length === 0;
  return isEmpty && condition.kind === 'literal' && condition.value === false && accuVar !== '__result__';
}

function literalSize(expr: Expr): Estimate | undefined {
  if (expr.kind === 'literal') return fixed(valueSize(expr.value));
  if (expr.kind === 'list') return fixed(expr.elements.length);
  return expr.kind === 'map' ? fixed(expr.entries.length) : undefined;
}

const scalars: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);
function isScalar(type: CelType): boolean {
  const inner = unwrapOptional(type);
  return inner ? isScalar(inner) : scalars.has(type.kind);
}
