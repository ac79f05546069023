// What the expressions of a validating policy say of a request.
import type { ValidatingAdmissionPolicy } from '../../../api/generated/types/admissionregistration-v1.ts';
import type { Clock } from '../../../base/clock.ts';
import { boolType, nullType, stringType } from '../../../cel/cel-type.ts';
import { runtimeType } from '../../../cel/value.ts';
import {
  aggregated,
  conditionsHold,
  type Evaluated,
  ExpressionRun,
  OutOfBudgetError,
  policyBudget,
  type Subject,
} from '../expression-run.ts';
import { type CompiledExpression, ExpressionCompiler, type Vocabulary } from '../expressions.ts';

export interface CompiledValidation {
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly conditions: readonly CompiledExpression[];
  readonly validations: readonly {
    readonly expression: CompiledExpression;
    readonly messageExpression: CompiledExpression | undefined;
    readonly message: string;
    readonly reason: string;
  }[];
  readonly annotations: readonly { readonly key: string; readonly expression: CompiledExpression }[];
}

export interface Decision {
  /** '' when the request is let in. */
  readonly message: string;
  readonly reason?: string | undefined;
  /** Nobody knows: the expression failed. */
  readonly isError: boolean;
  readonly admitted?: boolean;
  readonly seconds: number;
}

export interface AuditAnnotationResult {
  readonly key: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly seconds: number;
}

interface ValidationResult {
  readonly decisions: readonly Decision[];
  readonly annotations: readonly AuditAnnotationResult[];
}

const maxMessageBytes = 5 * 1024;

export function compileValidation({ spec }: ValidatingAdmissionPolicy): CompiledValidation {
  const compiler = new ExpressionCompiler({ composed: true });
  const params = spec.paramKind !== undefined;
  const all: Vocabulary = { params, authorizer: true };
  for (const { name, expression } of spec.variables ?? []) compiler.declare(name, expression, all);
  return {
    variables: compiler.variables,
    conditions: (spec.matchConditions ?? []).map(({ expression }) =>
      compiler.compile(expression, all, [boolType]),
    ),
    validations: (spec.validations ?? []).map(
      ({ expression, messageExpression = '', message = '', reason = 'Invalid' }) => ({
        expression: compiler.compile(expression, all, [boolType]),
        messageExpression:
          messageExpression === ''
            ? undefined
            : compiler.compile(messageExpression, { params }, [stringType]),
        message: message.trim(),
        reason,
      }),
    ),
    annotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      expression: compiler.compile(valueExpression, all, [stringType, nullType]),
    })),
  };
}

/** The run of one part; a refusal when its budget is spent. */
async function withinBudget<T>(run: () => Promise<T>): Promise<T | OutOfBudgetError> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof OutOfBudgetError) return error;
    throw error;
  }
}

export async function evaluateValidation(
  compiled: CompiledValidation,
  told: Omit<Subject, 'variables'>,
  failsOpen: boolean,
  clock: Clock,
): Promise<ValidationResult> {
  const subject: Subject = { ...told, variables: compiled.variables };
  const failed = (message: string, seconds = 0): Decision => ({
    message,
    isError: true,
    admitted: failsOpen,
    seconds,
  });
  const over = (message: string): ValidationResult => ({ decisions: [failed(message)], annotations: [] });
  if (compiled.conditions.length > 0) {
    const withoutNamespace = { ...subject, namespace: undefined };
    const hold = await withinBudget(() => conditionsHold(compiled.conditions, withoutNamespace));
    if (hold === false) return { decisions: [], annotations: [] };
    if (hold !== true) {
      // With failurePolicy Ignore it is as if they did not hold.
      if (failsOpen) return { decisions: [], annotations: [] };
      return over(hold instanceof OutOfBudgetError ? hold.message : aggregated(hold));
    }
  }
  const decisions = await withinBudget(() => decide(compiled, subject, failed, clock));
  if (decisions instanceof OutOfBudgetError) return over(decisions.message);
  const annotations = await withinBudget(() => annotate(compiled, subject, failsOpen, clock));
  if (annotations instanceof OutOfBudgetError) return over(annotations.message);
  return { decisions, annotations };
}

type Failed = (message: string, seconds?: number) => Decision;

async function timed(
  run: ExpressionRun,
  expression: CompiledExpression,
  clock: Clock,
): Promise<Evaluated & { readonly seconds: number }> {
  const from = clock.monotonic();
  const result = await run.evaluate(expression);
  return { ...result, seconds: (clock.monotonic() - from) / 1000 };
}

async function decide(
  { validations }: CompiledValidation,
  subject: Subject,
  failed: Failed,
  clock: Clock,
): Promise<Decision[]> {
  if (validations.length === 0) return [];
  const run = new ExpressionRun(subject, policyBudget);
  const results: Awaited<ReturnType<typeof timed>>[] = [];
  for (const { expression } of validations) results.push(await timed(run, expression, clock));
  // Also of those that hold, as upstream: what they spend without end refuses.
  const messages = await withinBudget(() => saidMessages(validations, subject, run.left));
  return results.map(({ value, error, seconds }, i) => {
    const { message, expression, reason } = validations[i]!;
    if (error !== undefined) return failed(error, seconds);
    if (messages instanceof OutOfBudgetError)
      return failed(`failed messageExpression: ${messages.message}`, seconds);
    if (value === true) return { message: '', isError: false, admitted: true, seconds };
    const said = messages[i] || message || `failed expression: ${expression.text.trim()}`;
    return { message: said, isError: false, reason, seconds };
  });
}

/** What the message expressions say; '' for what is none, or not one line of a reasonable length. */
async function saidMessages(
  validations: CompiledValidation['validations'],
  { answers: _, ...subject }: Subject,
  budget: number,
): Promise<string[]> {
  const run = new ExpressionRun(subject, budget);
  const messages: string[] = [];
  for (const { messageExpression } of validations) {
    const result = messageExpression && (await run.evaluate(messageExpression));
    const text = typeof result?.value === 'string' ? result.value.trim() : '';
    messages.push(text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? '' : text);
  }
  return messages;
}

async function annotate(
  { annotations }: CompiledValidation,
  { answers: _, ...subject }: Subject,
  failsOpen: boolean,
  clock: Clock,
): Promise<AuditAnnotationResult[]> {
  if (annotations.length === 0) return [];
  const run = new ExpressionRun(subject, policyBudget);
  const results: AuditAnnotationResult[] = [];
  for (const { key, expression } of annotations) {
    const { value, error, seconds } = await timed(run, expression, clock);
    const text = typeof value === 'string' ? value.trim() : '';
    if (error !== undefined) {
      if (!failsOpen) results.push({ key, value: '', error, seconds });
    } else if (typeof value !== 'string' && value !== null)
      results.push({
        key,
        value: '',
        error: `valueExpression '${expression.text}' resulted in unsupported return type: ${runtimeType(value).name}. Return type must be either string or null.`,
        seconds,
      });
    else if (text !== '') results.push({ key, value: text, error: undefined, seconds });
  }
  return results;
}
