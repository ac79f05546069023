// What a library adds to the language: functions with overloads and costs, macros, types. A library is one file in `libraries/`.
import type { Expr } from './ast.ts';
import type { CelType } from './cel-type.ts';
import type { CallEstimate, CallSite } from './estimate.ts';
import type { Step } from './frame.ts';
import type { Macro } from './macros.ts';
import type { Issues } from './source.ts';
import type { CelError, Value } from './value.ts';

/** One signature of a function. */
export interface Overload {
  readonly id: string;
  /** Called as `x.f(...)`: `params` begins with the receiver. */
  readonly member?: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  /**
   * Called with arguments of these types, none of them a CelError. It answers a CelError for what fails, and throws nothing.
   * Left out where `dispatch` of the function does it.
   */
  readonly call?: (...args: never[]) => Value;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** One implementation for all overloads, which looks at the types itself. */
  readonly dispatch?: (...args: Value[]) => Value;
  /** The implementation where some arguments are constants (undefined: not constant), made once; a CelError refuses the program. */
  readonly specialize?: (
    constants: readonly (Value | undefined)[],
  ) => ((...args: Value[]) => Value) | CelError | undefined;
  /** Evaluates its own operands, as far as it needs them. It costs nothing besides. */
  readonly lazy?: (operands: readonly Step[]) => Step;
  /** Called with errors as well. */
  readonly nonStrict?: boolean;
  /** Overloads with a `call` are called without a look at the types of arguments. */
  readonly unguarded?: boolean;
  /** What a call costs as it ran; undefined or left out: 1, or what the language says of an overload. */
  readonly cost?: (args: readonly Value[], result: Value, overload: string) => number | undefined;
  /** The cost is known from the arguments, and paid before the call: it may be too dear to be made. */
  readonly paidFirst?: boolean;
  /** What a call may cost, for those who judge a rule before it runs; left out: as `cost`. */
  readonly estimate?: (call: CallSite) => CallEstimate | undefined;
}

export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that can be named in an expression: `net.IP`. */
  readonly types?: readonly CelType[];
  /** `a.?b` and the like. */
  readonly optionalSyntax?: boolean;
  /** Looks at each expression that has its types. */
  readonly validate?: (expr: Expr, issues: Issues) => void;
  /** What `==` may cost for two values of a type of this library, by its name. */
  readonly equality?: Readonly<Record<string, (call: CallSite) => CallEstimate>>;
}
