// Parts of a program while it is made, and what their makers ask of the whole.
import type { Expr } from './ast.ts';
import { type Attribute, attributeStep } from './attributes.ts';
import type { Environment } from './environment.ts';
import type { Step } from './frame.ts';
import { CelError, type Value } from './value.ts';

export interface Plan {
  readonly step: Step;
  /** What it always gives. */
  readonly constant?: Value;
  /** A chain to which more may be added. */
  readonly attribute?: Attribute;
}
export const constantPlan = (value: Value): Plan => ({ step: () => value, constant: value });
export const attributePlan = (attribute: Attribute): Plan => ({ step: attributeStep(attribute), attribute });

/** The expression can't become a program: a constant in it is none. */
export class PlanError extends Error {}

/** For what is evaluated while the program is made. */
export function constantOrRefuse(value: Value): Plan {
  if (value instanceof CelError) throw new PlanError(value.message);
  return constantPlan(value);
}

export interface Planning {
  readonly environment: Environment;
  plan(expr: Expr): Plan;
  /** For a variable of a loop. */
  newSlot(): number;
  /** Plans with some names standing for these. */
  scoped<T>(names: ReadonlyMap<string, Plan>, plan: () => T): T;
}
