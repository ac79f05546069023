// Rules as programs, in the environment that the schema gives them: `self`, and `oldSelf` where an old value can be told.
import { fieldInSchema } from '../../apimachinery/structural/field-in-schema.ts';
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import { optionalOf, stringType } from '../cel-type.ts';
import { CheckedExpression, compileExpression } from '../compile.ts';
import type { Environment } from '../environment.ts';
import { kubernetesEnvironment } from '../libraries/kubernetes.ts';
import { PlanError } from '../plan.ts';
import type { Program } from '../program.ts';
import { type SchemaType, schemaSizeHints, schemaTypeProvider } from '../schema-type.ts';
import type { ValidationRule } from './validation-rule.ts';

interface Compiled {
  readonly program: Program;
  /** The most that a run may cost. */
  readonly maxCost: () => number;
}

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Why it is none. */
  readonly error?: string;
  /** undefined: wrong, or empty. */
  readonly check?: Compiled;
  readonly usesOldSelf: boolean;
  readonly message?: Compiled;
  readonly messageError?: string;
  /** Where its faults are told, below the value that it is about; '' is the value itself. */
  readonly place: string;
}

/** For all rules within a schema: types have their names there. */
export const typesWithin = (type: SchemaType): Environment =>
  kubernetesEnvironment.extend({ types: schemaTypeProvider([type]) });

/** For the rules of a schema itself. `type` is what the schema is in CEL, `types` that of a schema around it. */
export function ruleCompiler(
  schema: StructuralSchema,
  type: SchemaType,
  types: Environment,
): (rule: ValidationRule) => CompiledRule {
  const { type: self } = type;
  const plain = types.extend({ variables: { self, oldSelf: self } });
  const optional = types.extend({ variables: { self, oldSelf: optionalOf(self) } });
  return (rule) => compileRule(rule, schema, type, rule.optionalOldSelf === true ? optional : plain);
}

function compileRule(
  rule: ValidationRule,
  schema: StructuralSchema,
  type: SchemaType,
  environment: Environment,
): CompiledRule {
  const nothing = { rule, usesOldSelf: false, place: '' };
  if (rule.rule.trim() === '') return nothing;
  const checked = compileExpression(rule.rule, environment);
  if (!(checked instanceof CheckedExpression)) return { ...nothing, error: `compilation failed: ${checked}` };
  if (checked.type.kind !== 'bool') return { ...nothing, error: 'cel expression must evaluate to a bool' };
  const usesOldSelf = checked.uses('oldSelf');
  const check = programOf(checked, type);
  if (typeof check === 'string')
    return { ...nothing, usesOldSelf, error: `program instantiation failed: ${check}` };
  const compiled = { rule, usesOldSelf, check, place: placeOf(rule, schema) };
  if (rule.messageExpression === '') return compiled;
  const message = compileMessage(rule.messageExpression, type, environment);
  return typeof message === 'string'
    ? { ...compiled, place: '', messageError: message }
    : { ...compiled, message };
}

function compileMessage(text: string, type: SchemaType, environment: Environment): Compiled | string {
  const checked = compileExpression(text, environment);
  if (!(checked instanceof CheckedExpression)) return `messageExpression compilation failed: ${checked}`;
  if (checked.type.kind !== stringType.kind) return 'messageExpression must evaluate to a string';
  const compiled = programOf(checked, type);
  return typeof compiled === 'string' ? `messageExpression instantiation failed: ${compiled}` : compiled;
}

function programOf(checked: CheckedExpression, type: SchemaType): Compiled | string {
  try {
    return {
      program: checked.program(),
      maxCost: () => checked.estimate(schemaSizeHints(type)).max,
    };
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return error.message;
  }
}

function placeOf({ fieldPath }: ValidationRule, schema: StructuralSchema): string {
  if (fieldPath === '') return '';
  const found = fieldInSchema(fieldPath, schema, { brackets: true });
  return 'error' in found ? '' : found.place;
}
