// A checked tree becomes closures, once.
import { type Expr, qualifiedName, type Reference, type Select } from './ast.ts';
import { attribute, constantQualifier, presenceQualifier } from './attributes.ts';
import { planCall } from './calls.ts';
import type { Environment } from './environment.ts';
import { planFold } from './folds.ts';
import { planList, planMap, planStruct } from './literals.ts';
import { attributePlan, constantPlan, type Plan, type Planning } from './plan.ts';
import { Program } from './program.ts';
import { CelError } from './value.ts';

/** Throws PlanError. */
export function planProgram(expr: Expr, environment: Environment): Program {
  const planner = new Planner(environment);
  const { step } = planner.plan(expr);
  return new Program(step, planner.readNames, planner.slotCount);
}

class Planner implements Planning {
  readonly environment: Environment;
  /** Variables of the environment; each has the slot of its index. */
  readonly names: readonly string[];
  private readonly read = new Set<string>();
  private folds = 0;
  private readonly scopes: ReadonlyMap<string, Plan>[] = [];

  constructor(environment: Environment) {
    this.environment = environment;
    this.names = [...environment.variableNames];
  }

  /** By slot; undefined: nothing reads it. */
  get readNames(): (string | undefined)[] {
    return this.names.map((name) => (this.read.has(name) ? name : undefined));
  }
  get slotCount(): number {
    return this.names.length + this.folds;
  }
  newSlot(): number {
    return this.names.length + this.folds++;
  }
  scoped<T>(names: ReadonlyMap<string, Plan>, plan: () => T): T {
    this.scopes.push(names);
    const result = plan();
    this.scopes.pop();
    return result;
  }

  plan(expr: Expr): Plan {
    switch (expr.kind) {
      case 'literal':
        return constantPlan(expr.value);
      case 'ident':
        return this.named(expr.reference ?? { name: expr.name });
      case 'select':
        return this.select(expr);
      case 'call':
        return planCall(this, expr);
      case 'list':
        return planList(this, expr);
      case 'map':
        return planMap(this, expr);
      case 'struct':
        return planStruct(this, expr);
      case 'fold':
        return planFold(this, expr);
    }
  }

  private named({ name, constant }: Reference): Plan {
    if (constant !== undefined) return constantPlan(constant);
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const local = this.scopes[i]!.get(name);
      if (local) return local;
    }
    const slot = this.names.indexOf(name);
    const missing = new CelError(`no such attribute(s): ${name}`);
    if (slot === -1) return attributePlan(attribute(() => missing));
    this.read.add(name);
    return attributePlan(
      attribute((frame) => {
        const value = frame.slots[slot];
        return value === undefined ? missing : value;
      }),
    );
  }

  private select(expr: Select): Plan {
    if (expr.reference) return this.named(expr.reference);
    const name = qualifiedName(expr);
    // Without types, a chain may be one variable.
    if (expr.type === undefined && name !== undefined && this.names.includes(name))
      return this.named({ name });
    const operand = this.plan(expr.operand);
    const chain = operand.attribute ?? attribute(operand.step);
    return attributePlan(
      chain.with(expr.test ? presenceQualifier(expr.field) : constantQualifier(expr.field, false)),
    );
  }
}
