// Macros: calls that become other expressions before anything is checked. These are the language's own.
import { accumulator, type Expr, operators } from './ast.ts';
import type { Value } from './value.ts';

export interface Macro {
  readonly name: string;
  readonly argumentCount: number;
  /** `x.name(...)` rather than `name(...)`. */
  readonly receiver: boolean;
  /** undefined: this call is no macro after all. */
  expand(make: ExprMaker, target: Expr | undefined, args: readonly Expr[]): Expr | undefined;
}

/** A call that is a macro by its name, with arguments that it can't have. */
export class MacroError extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** Makes expressions that stand where the macro was called. */
export class ExprMaker {
  readonly at: number;

  constructor(at: number) {
    this.at = at;
  }
  literal(value: Value): Expr {
    return { kind: 'literal', at: this.at, value };
  }
  ident(name: string): Expr {
    return { kind: 'ident', at: this.at, name };
  }
  accumulated(): Expr {
    return this.ident(accumulator);
  }
  call(name: string, ...args: Expr[]): Expr {
    return { kind: 'call', at: this.at, name, target: undefined, args };
  }
  memberCall(name: string, target: Expr, ...args: Expr[]): Expr {
    return { kind: 'call', at: this.at, name, target, args };
  }
  list(...elements: Expr[]): Expr {
    return { kind: 'list', at: this.at, elements, optional: new Set() };
  }
  map(): Expr {
    return { kind: 'map', at: this.at, entries: [] };
  }
  has(operand: Expr, field: string): Expr {
    return { kind: 'select', at: this.at, operand, field, test: true };
  }
  fold(parts: {
    range: Expr;
    iterVar: string;
    iterVar2?: string | undefined;
    accuVar?: string;
    init: Expr;
    condition: Expr;
    step: Expr;
    result: Expr;
  }): Expr {
    return { accuVar: accumulator, iterVar2: undefined, ...parts, kind: 'fold', at: this.at };
  }
  /** A name for the value of an expression, evaluated when it is first asked for. */
  bind(name: string, value: Expr, result: Expr): Expr {
    return this.fold({
      range: this.list(),
      iterVar: '#unused',
      accuVar: name,
      init: value,
      condition: this.literal(false),
      step: this.ident(name),
      result,
    });
  }
}

const clash = 'iteration variable overwrites accumulator variable';

/** The name that a macro's argument is. */
export function variableName(arg: Expr, message: string): string {
  if (arg.kind !== 'ident') throw new MacroError(arg.at, message);
  // What the accumulator was once called is still refused.
  if (arg.name === accumulator || arg.name === '__result__') throw new MacroError(arg.at, clash);
  return arg.name;
}

interface Loop {
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2?: string;
}

export const foldAll = (make: ExprMaker, loop: Loop, predicate: Expr): Expr =>
  make.fold({
    ...loop,
    init: make.literal(true),
    condition: make.call(operators.notStrictlyFalse, make.accumulated()),
    step: make.call(operators.and, make.accumulated(), predicate),
    result: make.accumulated(),
  });

export const foldExists = (make: ExprMaker, loop: Loop, predicate: Expr): Expr =>
  make.fold({
    ...loop,
    init: make.literal(false),
    condition: make.call(operators.notStrictlyFalse, make.call(operators.not, make.accumulated())),
    step: make.call(operators.or, make.accumulated(), predicate),
    result: make.accumulated(),
  });

export const foldExistsOne = (make: ExprMaker, loop: Loop, predicate: Expr): Expr =>
  make.fold({
    ...loop,
    init: make.literal(0n),
    condition: make.literal(true),
    step: make.call(
      operators.conditional,
      predicate,
      make.call(operators.add, make.accumulated(), make.literal(1n)),
      make.accumulated(),
    ),
    result: make.call(operators.equals, make.accumulated(), make.literal(1n)),
  });

/** A step for each element that the filter lets through; the accumulator as it is for the others. */
export function foldFiltered(
  make: ExprMaker,
  loop: Loop,
  init: Expr,
  filter: Expr | undefined,
  step: Expr,
): Expr {
  return make.fold({
    ...loop,
    init,
    condition: make.literal(true),
    step: filter ? make.call(operators.conditional, filter, step, make.accumulated()) : step,
    result: make.accumulated(),
  });
}
const appended = (make: ExprMaker, element: Expr): Expr =>
  make.call(operators.add, make.accumulated(), make.list(element));

const quantifier = (name: string, fold: (make: ExprMaker, loop: Loop, predicate: Expr) => Expr): Macro => ({
  name,
  argumentCount: 2,
  receiver: true,
  expand: (make, target, [variable, predicate]) =>
    fold(
      make,
      { range: target!, iterVar: variableName(variable!, 'argument must be a simple name') },
      predicate!,
    ),
});

const mapMacro = (argumentCount: number): Macro => ({
  name: 'map',
  argumentCount,
  receiver: true,
  expand: (make, target, args) => {
    const iterVar = variableName(args[0]!, 'argument is not an identifier');
    const filter = args.length === 3 ? args[1] : undefined;
    return foldFiltered(make, { range: target!, iterVar }, make.list(), filter, appended(make, args.at(-1)!));
  },
});

export const standardMacros: readonly Macro[] = [
  {
    name: 'has',
    argumentCount: 1,
    receiver: false,
    expand: (make, _target, [arg]) => {
      if (arg!.kind !== 'select') throw new MacroError(arg!.at, 'invalid argument to has() macro');
      return make.has(arg!.operand, arg!.field);
    },
  },
  quantifier('all', foldAll),
  quantifier('exists', foldExists),
  quantifier('exists_one', foldExistsOne),
  quantifier('existsOne', foldExistsOne),
  mapMacro(2),
  mapMacro(3),
  {
    name: 'filter',
    argumentCount: 2,
    receiver: true,
    expand: (make, target, [variable, predicate]) => {
      const iterVar = variableName(variable!, 'argument is not an identifier');
      const loop = { range: target!, iterVar };
      return foldFiltered(make, loop, make.list(), predicate, appended(make, make.ident(iterVar)));
    },
  },
];
