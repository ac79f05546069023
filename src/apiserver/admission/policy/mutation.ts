// What the expressions of a mutating policy make of an object: an apply configuration or a JSON patch, applied, read as its kind and defaulted.
import type { MutatingAdmissionPolicy } from '../../../api/generated/types/admissionregistration-v1.ts';
import type { Json, JsonObject, Scheme } from '../../../apimachinery/declaration.ts';
import { internalError, StatusError } from '../../../apimachinery/errors.ts';
import { UndecodableError } from '../../../apimachinery/field-validation.ts';
import { mergedConfiguration } from '../../../apimachinery/fieldmanager/applied-configuration.ts';
import { copyJson } from '../../../apimachinery/json-access.ts';
import { assertBounded, boundsOf } from '../../../apimachinery/object-bounds.ts';
import { jsonPatchSteps } from '../../../apimachinery/patch/json-patch.ts';
import { FailedTestError, InapplicablePatchError } from '../../../apimachinery/patch/patch-error.ts';
import { inTurns } from '../../../base/turns.ts';
import { boolType } from '../../../cel/cel-type.ts';
import { mutationResults, typeNameFaults, valueJson } from '../../../cel/mutation-values.ts';
import { CelError, CelList, CelMap, type Value } from '../../../cel/value.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import type { DecodeTarget } from '../../registry/decode-body.ts';
import { ExpressionRun, policyBudget, type Subject } from '../expression-run.ts';
import { type CompiledExpression, ExpressionCompiler, type Vocabulary } from '../expressions.ts';
import { readMutated, targetFor } from '../webhook/patched-by-webhook.ts';

type MutationKind = keyof typeof mutationResults;

export interface CompiledMutations {
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly conditions: readonly CompiledExpression[];
  readonly mutations: readonly { readonly kind: MutationKind; readonly expression: CompiledExpression }[];
}

/** The expression, or what it made, is of no use; `failurePolicy` says what becomes of the request. */
export class MutationError extends Error {}

export function compileMutations({ spec }: MutatingAdmissionPolicy): CompiledMutations {
  const compiler = new ExpressionCompiler({ composed: true });
  const all: Vocabulary = { params: spec.paramKind !== undefined, authorizer: true };
  for (const { name, expression } of spec.variables ?? []) compiler.declare(name, expression, all);
  return {
    variables: compiler.variables,
    conditions: (spec.matchConditions ?? []).map(({ expression }) =>
      compiler.compile(expression, all, [boolType]),
    ),
    mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => {
      const kind = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
      const { expression = '' } = (kind === 'jsonPatch' ? jsonPatch : applyConfiguration) ?? {};
      const vocabulary = { ...all, patches: true };
      return { kind, expression: compiler.compile(expression, vocabulary, [mutationResults[kind]]) };
    }),
  };
}

/** The object as the mutation leaves it; the one of the subject is not changed. Throws MutationError and StatusError. */
export async function mutatedObject(
  { kind, expression }: CompiledMutations['mutations'][number],
  subject: Subject & { readonly objects: { readonly object: JsonObject } },
  scheme: Scheme,
): Promise<JsonObject> {
  if (expression.program === undefined) throw new MutationError(expression.fault);
  const { value, error } = await new ExpressionRun(subject, policyBudget).evaluate(expression);
  if (error !== undefined) throw new MutationError(error);
  const { object } = subject.objects;
  const { seen, kind: gvk } = subject.seen;
  const target = targetFor(scheme, seen, subject.request.subresource);
  const made = kind === 'jsonPatch' ? await patched(object, value) : applied(object, value, target, scheme);
  if (made === object) return object;
  try {
    assertBounded(made, boundsOf(gvk.kind));
    if (target === undefined) return copyJson(made);
    // As upstream: what is no field of a custom kind is dropped without a word.
    const validation = kind === 'jsonPatch' && seen.custom !== true ? 'Strict' : 'Ignore';
    return readMutated(scheme, { seen, target }, subject.request, made, validation);
  } catch (cause) {
    throw internalError(cause instanceof UndecodableError ? new Error(cause.why) : cause);
  }
}

function assertNamed(value: Value, root: string): void {
  const faults = typeNameFaults(value, root);
  if (faults.length > 0) throw new MutationError(`type mismatch: ${faults.join('\n')}`);
}

/** As upstream: options of a connect are in no OpenAPI document, and such a patch needs their schema. */
const untyped = ({ apiVersion, kind }: JsonObject): string =>
  `failed to convert patch object to typed object: no corresponding type for /${apiVersion}, Kind=${kind}`;

function applied(
  object: JsonObject,
  value: Value,
  target: DecodeTarget | undefined,
  scheme: Scheme,
): JsonObject {
  assertNamed(value, mutationResults.applyConfiguration.name);
  const json = valueJson(value);
  if (json instanceof CelError) throw new MutationError(json.message);
  const configuration: JsonObject = {
    ...(json as JsonObject),
    apiVersion: object['apiVersion'],
    kind: object['kind'],
  };
  const merged =
    target === undefined ? untyped(object) : mergedConfiguration(scheme, target.type, object, configuration);
  if (typeof merged === 'string') throw new MutationError(`error applying patch: ${merged}`);
  return merged;
}

/** The object itself when a test of the patch fails: then nothing is done. */
async function patched(object: JsonObject, value: Value): Promise<JsonObject> {
  const operations: Json[] = value instanceof CelList ? [...value].map(operationOf) : [];
  try {
    return await inTurns(jsonPatchSteps(object, operations), threadTurns);
  } catch (error) {
    if (error instanceof FailedTestError) return object;
    if (error instanceof InapplicablePatchError) throw new MutationError(`JSON Patch: ${error.why}`);
    if (error instanceof StatusError) throw new MutationError(`JSON Patch: ${error.message}`);
    throw error;
  }
}

function operationOf(made: Value): JsonObject {
  const field = (name: string): Value | undefined => (made instanceof CelMap ? made.find(name) : undefined);
  const [op = '', path = '', from = ''] = [field('op'), field('path'), field('from')];
  const operation: JsonObject = { op: op as string, path: path as string };
  if (from !== '') operation['from'] = from as string;
  const value = field('value');
  if (value === undefined) return operation;
  if (value instanceof CelMap && value.type.kind === 'struct') assertNamed(value, value.type.name);
  const json = valueJson(value);
  if (json instanceof CelError)
    throw new MutationError(
      `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${json.message}`,
    );
  operation['value'] = json;
  return operation;
}
