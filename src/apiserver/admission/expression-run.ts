// Runs expressions about a request within their budgets, with variables that are evaluated when they are first asked for.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { CelType } from '../../cel/cel-type.ts';
import { jsonValue } from '../../cel/json-values.ts';
import { type AuthzAnswers, authorizerValue, requestResourceValue } from '../../cel/libraries/authz.ts';
import type { Activation, Outcome } from '../../cel/program.ts';
import { CelError, CelMap, type Value } from '../../cel/value.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';
import type { AdmissionRequest } from './admission.ts';
import { type CompiledExpression, variablesType } from './expressions.ts';
import { namespaceOf, type Seen } from './webhook/matcher.ts';
import { reviewedRequest } from './webhook/review-builder.ts';
import type { WebhookObjects } from './webhook/webhook-caller.ts';

/** Upstream's PerCallLimit, RuntimeCELCostBudget and RuntimeCELCostBudgetMatchConditions. */
const costOfOne = 1_000_000;
export const policyBudget = 10_000_000;
const conditionsBudget = 2_500_000;
/** After so much work others have a turn: about a millisecond. */
const costOfTurn = 10_000;

/** Not another expression is run. */
export class OutOfBudgetError extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

/** The policy's variables, as one run of its expressions sees them. */
class Variables extends CelMap {
  /** What those cost that were evaluated since somebody asked. */
  spent = 0;
  /** Past it none is evaluated: one expression may name them all. */
  room = Number.POSITIVE_INFINITY;
  #activation: Activation = {};
  readonly #compiled: ReadonlyMap<string, CompiledExpression>;
  readonly #values = new Map<string, Value>();

  constructor(compiled: ReadonlyMap<string, CompiledExpression>) {
    super();
    this.#compiled = compiled;
  }
  /** They use what expressions use, one another included. */
  use(activation: Activation): void {
    this.#activation = activation;
  }
  override get type(): CelType {
    return variablesType;
  }
  get size(): number {
    return this.#compiled.size;
  }
  keys(): Iterable<Value> {
    return this.#compiled.keys();
  }
  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    let value = this.#values.get(key);
    if (value !== undefined) return value;
    const compiled = this.#compiled.get(key);
    if (compiled === undefined) return undefined;
    value = this.#evaluate(key, compiled);
    this.#values.set(key, value);
    return value;
  }
  #evaluate(name: string, { program, fault }: CompiledExpression): Value {
    const about = `composited variable ${JSON.stringify(name)}`;
    if (program === undefined) return new CelError(`${about} fails to compile: ${fault}`);
    if (this.spent > this.room) return new CelError(`${about} fails to evaluate: out of budget`);
    const { value, cost } = program.run(this.#activation, { cost: costOfOne });
    this.spent += cost;
    return value instanceof CelError ? new CelError(`${about} fails to evaluate: ${value.message}`) : value;
  }
}

/** What expressions are told of. */
export interface Subject {
  readonly request: AdmissionRequest;
  readonly seen: Seen;
  readonly objects: WebhookObjects;
  readonly namespace?: JsonObject | undefined;
  readonly params?: JsonObject | undefined;
  /** None: they may not ask. */
  readonly answers?: AuthzAnswers | undefined;
  readonly variables?: ReadonlyMap<string, CompiledExpression> | undefined;
}

export interface Evaluated {
  /** A CelError is not among them: see `error`. */
  readonly value: Value;
  readonly error: string | undefined;
}

/** Most who are asked about a request see the same version of it. */
const requestValues = new WeakMap<AdmissionRequest, { readonly seen: Seen['seen']; readonly value: Value }>();

function requestValue(request: AdmissionRequest, seen: Seen): Value {
  const known = requestValues.get(request);
  if (known?.seen === seen.seen) return known.value;
  // Its objects have variables of their own; upstream's value has their places, empty.
  const value = jsonValue({ uid: '', ...reviewedRequest(request, seen), object: null, oldObject: null });
  requestValues.set(request, { seen: seen.seen, value });
  return value;
}

const none: ReadonlyMap<string, CompiledExpression> = new Map();

/** Expressions that share one budget and one set of variables. */
export class ExpressionRun {
  /** What of the budget is left. */
  left: number;
  readonly #activation: Activation;
  readonly #variables: Variables;
  readonly #answers: AuthzAnswers | undefined;
  #sinceTurn = 0;

  constructor({ request, seen, objects, namespace, params, answers, variables }: Subject, budget: number) {
    this.left = budget;
    this.#answers = answers;
    this.#variables = new Variables(variables ?? none);
    const { group, resource } = seen.seen;
    const { subresource, name } = request;
    const checked = { group, resource, subresource, namespace: namespaceOf(request), name };
    this.#activation = {
      object: jsonValue(objects.object),
      oldObject: jsonValue(objects.oldObject),
      // Few ask for it, and it is put together of a dozen parts.
      get request() {
        return requestValue(request, seen);
      },
      namespaceObject: jsonValue(namespace),
      params: jsonValue(params),
      variables: this.#variables,
      ...(answers === undefined
        ? {}
        : {
            authorizer: authorizerValue(answers),
            'authorizer.requestResource': requestResourceValue(answers, checked),
          }),
    };
    this.#variables.use(this.#activation);
  }

  /** Throws OutOfBudgetError. */
  async evaluate({ text, program, fault, asks }: CompiledExpression): Promise<Evaluated> {
    if (program === undefined) return { value: null, error: `compilation error: ${fault}` };
    const run = (): Outcome => program.run(this.#activation, { cost: costOfOne });
    this.#variables.room = this.left;
    const answers = this.#answers;
    const { value, cost } = asks && answers !== undefined ? await answers.settle(run) : run();
    const all = cost + this.#variables.spent;
    this.#variables.spent = 0;
    if (all > this.left) throw new OutOfBudgetError();
    this.left -= all;
    this.#sinceTurn += all;
    if (this.#sinceTurn > costOfTurn) {
      this.#sinceTurn = 0;
      await threadTurns.take();
    }
    return value instanceof CelError
      ? { value: null, error: `expression '${text}' resulted in error: ${value.message}` }
      : { value, error: undefined };
  }
}

/** Whether all conditions hold; a list of what went wrong where none says no. Throws OutOfBudgetError. */
export async function conditionsHold(
  conditions: readonly CompiledExpression[],
  subject: Subject,
): Promise<boolean | readonly string[]> {
  const run = new ExpressionRun(subject, conditionsBudget);
  const errors: string[] = [];
  const results: Evaluated[] = [];
  for (const condition of conditions) results.push(await run.evaluate(condition));
  for (const { value, error } of results) {
    if (error !== undefined) errors.push(error);
    else if (value === false) return false;
  }
  return errors.length === 0 ? true : errors;
}

/** As Go has several errors in one. */
export const aggregated = (errors: readonly string[]): string => {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
};
