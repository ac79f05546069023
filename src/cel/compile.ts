// From text to program: parsed, checked, made into closures. Faults are told as cel-go tells them.
import { type Expr, subexpressions } from './ast.ts';
import type { CelType } from './cel-type.ts';
import { checkExpression } from './checker.ts';
import { estimateCost } from './cost.ts';
import type { Environment } from './environment.ts';
import type { Estimate, SizeHints } from './estimate.ts';
import { planProgram } from './interpreter.ts';
import { parseExpression } from './parser.ts';
import type { Program } from './program.ts';
import { Issues } from './source.ts';
import { validateExpression } from './validators.ts';

/** An expression without faults. */
export class CheckedExpression {
  readonly type: CelType;
  readonly expr: Expr;
  private readonly environment: Environment;

  constructor(expr: Expr, type: CelType, environment: Environment) {
    this.expr = expr;
    this.type = type;
    this.environment = environment;
  }
  /** Throws PlanError for a constant that is none: `int('x')`. */
  program(): Program {
    return planProgram(this.expr, this.environment);
  }
  /** Whether a variable of that name is used. */
  uses(variable: string): boolean {
    const isUsed = (expr: Expr): boolean =>
      ((expr.kind === 'ident' || expr.kind === 'select') && expr.reference?.name === variable) ||
      subexpressions(expr).some(isUsed);
    return isUsed(this.expr);
  }
  estimate(hints?: SizeHints): Estimate {
    return estimateCost(this.expr, this.environment, hints);
  }
}

/** Or the issues that it has. */
export function compileExpression(text: string, environment: Environment): CheckedExpression | Issues {
  const issues = new Issues(text);
  const expr = parseExpression(text, environment, issues);
  if (!expr) return issues;
  const type = checkExpression(expr, environment, issues);
  if (issues.isEmpty && environment.validated) validateExpression(expr, issues, environment.validators);
  return issues.isEmpty ? new CheckedExpression(expr, type, environment) : issues;
}
