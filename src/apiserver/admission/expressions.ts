// What CEL expressions about admission may use: object, oldObject, request and authorizer. Loaded when there are some: the language
// takes a tenth of a second to load, and most servers have no such expressions.
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import { boolType, dynType } from '../../cel/cel-type.ts';
import { CheckedExpression, compileExpression } from '../../cel/compile.ts';
import type { Environment } from '../../cel/environment.ts';
import { authorizerType, resourceCheckType } from '../../cel/libraries/authz.ts';
import { kubernetesEnvironment } from '../../cel/libraries/kubernetes.ts';
import { PlanError } from '../../cel/plan.ts';
import type { Program } from '../../cel/program.ts';
import { type SchemaType, schemaType, schemaTypeProvider } from '../../cel/schema-type.ts';

const text: StructuralSchema = { type: 'string' };
const members = (...names: readonly string[]): StructuralSchema => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, text])),
});
const texts: StructuralSchema = { type: 'array', items: text };
const kind = members('group', 'version', 'kind');
const resource = members('group', 'version', 'resource');

/** AdmissionRequest without its objects, which are variables of their own. */
export const requestType: SchemaType = schemaType(
  {
    type: 'object',
    properties: {
      kind,
      resource,
      subResource: text,
      requestKind: kind,
      requestResource: resource,
      requestSubResource: text,
      name: text,
      namespace: text,
      operation: text,
      userInfo: {
        type: 'object',
        properties: {
          username: text,
          uid: text,
          groups: texts,
          extra: { type: 'object', additionalProperties: texts },
        },
      },
      dryRun: { type: 'boolean' },
      options: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
  'kubernetes.AdmissionRequest',
);

let environment: Environment | undefined;
const admissionEnvironment = (): Environment => {
  environment ??= kubernetesEnvironment.extend({
    types: schemaTypeProvider([requestType]),
    variables: {
      object: dynType,
      oldObject: dynType,
      request: requestType.type,
      authorizer: authorizerType,
      'authorizer.requestResource': resourceCheckType,
    },
  });
  return environment;
};

/** Of a condition; or why it is none, in upstream's words. */
export function compiledCondition(expression: string): Program | string {
  const compiled = compileExpression(expression, admissionEnvironment());
  if (!(compiled instanceof CheckedExpression)) return `compilation failed: ${compiled}`;
  if (compiled.type.kind !== 'dyn' && compiled.type.kind !== boolType.kind) return 'must evaluate to bool';
  try {
    return compiled.program();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return `program instantiation failed: ${error.message}`;
  }
}
