// Asks the rules of a schema about an object: in upstream's order and words, within its budget.
import type { FieldError } from '../../apimachinery/field-error.ts';
import {
  duplicate,
  fieldErrorText,
  forbidden,
  invalid,
  required,
  unfit,
} from '../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { isObject, str } from '../../apimachinery/json-access.ts';
import { type Correlated, oldItems } from '../../apimachinery/structural/correlated.ts';
import type { Steps } from '../../base/turns.ts';
import { schemaValue } from '../json-values.ts';
import type { Activation, Limits, Program } from '../program.ts';
import type { SchemaType } from '../schema-type.ts';
import { CelError, Optional, type Value } from '../value.ts';
import type { CompiledRule } from './compile-rule.ts';
import type { RuleTree } from './rule-tree.ts';
import { validationText } from './validation-rule.ts';

/** Upstream's PerCallLimit and RuntimeCELCostBudget. */
const limits: Limits = { cost: 1_000_000 };
export const costOfAll = 10_000_000;
/** Of a message that an expression makes, in bytes. */
const longestMessage = 5 * 1024;
/** Nobody reads more of them, and each may be long. */
const mostErrors = 1_000;
/** Others may go on after so much, some milliseconds. */
const costOfStep = 50_000;

const overBudget =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** What is to be asked about. */
export interface Subject {
  /** As errors name it; '' is the object itself. */
  readonly path: string;
  readonly value: Json | undefined;
  /** undefined or null: there was none. */
  readonly old: Json | undefined;
  /** What is known of its change. Without it nothing is forgiven. */
  readonly change?: Correlated | undefined;
  /** Of what is around it, where of its own nothing is known. */
  readonly changeAround?: Correlated | undefined;
}

const place = (path: string): string => (path === '' ? '<nil>' : path);
const child = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

const isForgiven = ({ change, changeAround }: Subject): boolean =>
  change === undefined ? changeAround?.isEqual === true : change.isEqual;

const nothingKnown: Pick<Subject, 'change' | 'changeAround'> = {};

/** Below a field: what is known of its change, too. */
function below(
  { change, changeAround }: Subject,
  next: (change: Correlated) => Correlated | undefined,
): Pick<Subject, 'change' | 'changeAround'> {
  if (change !== undefined) return { change: next(change), changeAround: change };
  return changeAround === undefined ? nothingKnown : { changeAround };
}

function atKey(subject: Subject, name: string): Pick<Subject, 'change' | 'changeAround'> {
  // Old and new were made the same version before they are compared.
  const isVersion = subject.changeAround === undefined && (name === 'apiVersion' || name === 'kind');
  return isVersion ? nothingKnown : below(subject, (change) => change.key(name));
}

/** Throws nothing; what ends the run early. */
const over: unique symbol = Symbol('over');
type Going = typeof over | undefined;

/** One run over one object. */
export class RuleRun {
  readonly errors: FieldError[] = [];
  /** What is wrong and was before. */
  readonly warnings: string[] = [];
  #left: number;
  #sinceStep = 0;

  constructor(budget: number = costOfAll) {
    this.#left = budget;
  }

  /** Of the budget; below zero when it was not enough. */
  get left(): number {
    return this.#left;
  }

  *ask(tree: RuleTree, subject: Subject): Steps<void> {
    yield* this.#visit(tree, subject);
  }

  /** The value's own rules, then those of what is in it. */
  *#visit(tree: RuleTree, subject: Subject): Steps<Going> {
    const { value } = subject;
    // Rules about what is null stand around it.
    if (value === undefined || value === null) return undefined;
    const { schema, type, size } = tree;
    if (size > 0 && type !== undefined) {
      if (this.errors.length >= mostErrors) return over;
      const is = str(schema['type']);
      if (this.#left <= 0) return this.#end(invalid(place(subject.path), is, overBudget));
      const variables = new Variables(type, subject);
      for (let i = 0; i < size; i++) {
        const isNew = !tree.isCompiled(i);
        const rule = tree.rule(i);
        if (isNew || this.#sinceStep > costOfStep) {
          this.#sinceStep = 0;
          yield;
        }
        if (this.#one(rule, variables, subject, is) === over) return over;
      }
    }
    // Most values with rules have none below: steps of their own would be most of what these cost.
    if (!tree.goesOn) return undefined;
    if (Array.isArray(value)) return yield* this.#items(tree, subject, value);
    return isObject(value) ? yield* this.#members(tree, subject, value) : undefined;
  }

  *#items(tree: RuleTree, subject: Subject, value: readonly Json[]): Steps<Going> {
    const { items, schema } = tree;
    if (items === undefined) return undefined;
    const old = oldItems(schema, subject.old);
    for (const [i, item] of value.entries()) {
      const next = below(subject, (change) => change.index(i));
      const of = { path: `${subject.path}[${i}]`, value: item, old: old(item), ...next };
      if ((yield* this.#visit(items, of)) === over) return over;
    }
    return undefined;
  }

  *#members(tree: RuleTree, subject: Subject, value: JsonObject): Steps<Going> {
    const { values, properties } = tree;
    const before = isObject(subject.old) ? subject.old : undefined;
    for (const name of Object.keys(value)) {
      const inner = values ?? properties.get(name);
      if (inner === undefined) continue;
      const path = values ? `${subject.path}[${name}]` : child(subject.path, name);
      const old = before && Object.hasOwn(before, name) ? before[name] : undefined;
      const of = { path, value: value[name], old, ...atKey(subject, name) };
      if ((yield* this.#visit(inner, of)) === over) return over;
    }
    return undefined;
  }

  #one(compiled: CompiledRule, variables: Variables, subject: Subject, is: string): Going {
    const { rule, check } = compiled;
    const at = place(subject.path);
    const fault = (why: string): void => void this.errors.push(invalid(at, is, why));
    if (compiled.error !== undefined) fault(`rule compile error: ${compiled.error}`);
    if (check === undefined) return undefined;
    const isOptional = rule.optionalOldSelf === true;
    // A rule about a change needs something that changed.
    if (compiled.usesOldSelf && !isOptional && (subject.old === undefined || subject.old === null))
      return undefined;
    const given = isOptional ? variables.withOptional : variables.plain;
    const { value, cost } = this.#run(check.program, given);
    if (cost > this.#left) return this.#end(invalid(at, is, overBudget));
    this.#left -= cost;
    if (value instanceof CelError) {
      const why = value.message;
      if (why.startsWith('no such overload'))
        fault(
          `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${validationText(rule)}`,
        );
      else if (why.startsWith('operation cancelled: actual cost limit exceeded'))
        return this.#end(
          invalid(
            at,
            is,
            `'${why}': no further validation rules will be run due to call cost exceeds limit for rule: ${validationText(rule)}`,
          ),
        );
      else fault(`${why} evaluating rule: ${validationText(rule)}`);
      return undefined;
    }
    return value === true ? undefined : this.#broken(compiled, variables, subject, is);
  }

  #broken(compiled: CompiledRule, variables: Variables, subject: Subject, is: string): Going {
    const { rule } = compiled;
    const at = compiled.place === '' ? place(subject.path) : child(subject.path, compiled.place);
    const report = (error: FieldError): void => {
      if (compiled.usesOldSelf || !isForgiven(subject)) this.errors.push(error);
      else if (this.warnings.length < mostErrors) this.warnings.push(fieldErrorText(error));
    };
    const made = this.#message(compiled, variables);
    if ('ends' in made) {
      report(invalid(at, is, made.ends));
      this.#left = -1;
      return over;
    }
    const detail =
      made.text ?? (rule.message === '' ? `failed rule: ${validationText(rule)}` : rule.message.trim());
    report(errorFor(rule.reason, at, is === 'object' || is === 'array' ? omitted : subject.value, detail));
    return undefined;
  }

  /** Without a text where the expression has none to give: then there is another. */
  #message(
    { rule, message }: CompiledRule,
    variables: Variables,
  ): { readonly text: string | undefined } | { readonly ends: string } {
    if (message === undefined) return { text: undefined };
    const { value, cost } = this.#run(message.program, variables.plain);
    if (cost > this.#left)
      return {
        ends: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      };
    if (
      value instanceof CelError &&
      value.message.startsWith('operation cancelled: actual cost limit exceeded')
    )
      return {
        ends: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
      };
    this.#left -= cost;
    const text = typeof value === 'string' ? value.trim() : '';
    return { text: text === '' || text.includes('\n') || isTooLong(text) ? undefined : text };
  }

  #run(program: Program, variables: Activation): { readonly value: Value; readonly cost: number } {
    const outcome = program.run(variables, limits);
    this.#sinceStep += outcome.cost;
    return outcome;
  }

  #end(error: FieldError): typeof over {
    this.errors.push(error);
    this.#left = -1;
    return over;
  }
}

const isTooLong = (text: string): boolean =>
  text.length > longestMessage || new TextEncoder().encode(text).length > longestMessage;

/** What all rules of one schema see. */
class Variables {
  readonly plain: Activation;
  constructor(type: SchemaType, { value, old }: Subject) {
    const self = schemaValue(value, type);
    this.plain = old === undefined || old === null ? { self } : { self, oldSelf: schemaValue(old, type) };
  }
  get withOptional(): Activation {
    const { oldSelf } = this.plain;
    return { ...this.plain, oldSelf: oldSelf === undefined ? Optional.none : new Optional(oldSelf) };
  }
}

/** Objects and lists are not shown. */
const omitted: unique symbol = Symbol('omitted');

function errorFor(
  reason: string,
  at: string,
  value: Json | undefined | typeof omitted,
  detail: string,
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(at, detail);
    case 'FieldValueRequired':
      return required(at, detail);
    case 'FieldValueDuplicate':
      return value === omitted
        ? { type: 'FieldValueDuplicate', field: at, message: 'Duplicate value' }
        : duplicate(at, value);
    default:
      return value === omitted ? unfit(at, detail) : invalid(at, value, detail);
  }
}
