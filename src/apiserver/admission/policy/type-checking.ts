// What is wrong with a validating policy's expressions for the kinds that it names: a mistyped field is told before a request meets it.
import type { ValidatingAdmissionPolicy } from '../../../api/generated/types/admissionregistration-v1.ts';
import type {
  FieldSchema,
  GroupVersionKind,
  JsonObject,
  ResourceDeclaration,
  Scheme,
} from '../../../apimachinery/declaration.ts';
import { arr, isObject, obj, str } from '../../../apimachinery/json-access.ts';
import { dynType } from '../../../cel/cel-type.ts';
import { type SchemaType, schemaType, schemaTypeProvider } from '../../../cel/schema-type.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import { ExpressionCompiler } from '../expressions.ts';
import { paramResource } from './params.ts';

interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

const maxTypes = 10;
const compilationFailed = 'compilation failed: ';
const intOrString: JsonObject = { 'x-kubernetes-int-or-string': true };
/** Of no type: expressions do not know the field. */
const unknown: JsonObject = {};

/** Of a type by its full name; `within` are those that it is part of. */
function structuralOf(scheme: Scheme, name: string, within: readonly string[]): JsonObject {
  // What holds itself is an object there, without fields.
  if (within.includes(name)) return { type: 'object' };
  const type = scheme.type(name);
  if (type?.fields === undefined) return scalar(type ?? {});
  const below = [...within, name];
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(type.fields).map(([key, field]) => [key, structuralField(scheme, field, below)]),
    ),
  };
}

function structuralField(scheme: Scheme, field: FieldSchema, within: readonly string[]): JsonObject {
  const { ref, items, values } = field;
  if (ref !== undefined) return structuralOf(scheme, ref, within);
  if (items !== undefined) return { type: 'array', items: structuralField(scheme, items, within) };
  if (values !== undefined)
    return { type: 'object', additionalProperties: structuralField(scheme, values, within) };
  return scalar(field);
}

function scalar({ type, format }: { type?: string | undefined; format?: string | undefined }): JsonObject {
  if (format === 'int-or-string') return intOrString;
  if (type === undefined) return unknown;
  return { type, ...(format === undefined ? {} : { format }) };
}

/** Of a custom kind, as documents show it: the types that it refers to put in. */
function resolved(scheme: Scheme, schema: JsonObject): JsonObject {
  const ref = str(obj(arr(schema['allOf'])[0])['$ref']);
  if (ref !== '') return structuralOf(scheme, ref.slice(ref.lastIndexOf('/') + 1), []);
  const made = { ...schema };
  for (const key of ['items', 'additionalProperties'])
    if (isObject(schema[key])) made[key] = resolved(scheme, schema[key]);
  if (isObject(schema['properties']))
    made['properties'] = Object.fromEntries(
      Object.entries(schema['properties']).map(([name, one]) => [name, resolved(scheme, obj(one))]),
    );
  return made;
}

function typeOfKind(scheme: Scheme, { type, kind }: ResourceDeclaration): SchemaType {
  const shown = scheme.definition?.(type, 'v3');
  return schemaType(shown ? resolved(scheme, shown) : structuralOf(scheme, type, []), kind, true);
}

/** Those that the rules name without wildcards, in upstream's order. */
function kindsToCheck({ spec }: ValidatingAdmissionPolicy, scheme: Scheme): ResourceDeclaration[] {
  const found = new Map<string, ResourceDeclaration>();
  const sorted = (names: readonly string[] = []): string[] =>
    names.some((name) => name.includes('*')) ? [] : [...names].sort();
  for (const rule of spec.matchConstraints?.resourceRules ?? []) {
    const resources = (rule.resources ?? []).filter((name) => !/[*/]/.test(name)).sort();
    let count = 0;
    for (const group of sorted(rule.apiGroups))
      for (const version of sorted(rule.apiVersions))
        for (const resource of resources)
          for (const one of scheme.resources()) {
            if (one.resource !== resource || one.version !== version || one.virtual) continue;
            // No group is any group to upstream's mapper.
            if (group !== '' && one.group !== group) continue;
            found.set(keyOf(one), one);
            if (++count === maxTypes) return inOrder(found);
          }
  }
  return inOrder(found);
}
const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`;
const inOrder = (found: ReadonlyMap<string, ResourceDeclaration>): ResourceDeclaration[] =>
  [...found.values()].sort(
    (a, b) => compared(a.group, b.group) || compared(a.version, b.version) || compared(a.kind, b.kind),
  );
const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function paramsType({ spec }: ValidatingAdmissionPolicy, scheme: Scheme): SchemaType | undefined {
  if (spec.paramKind === undefined) return undefined;
  try {
    return typeOfKind(scheme, paramResource(spec.paramKind, scheme));
  } catch {
    // It is not served yet: nothing can be said of it.
    return undefined;
  }
}

/** In the order of the validations. Others have a turn between two expressions. */
export async function expressionWarnings(
  policy: ValidatingAdmissionPolicy,
  scheme: Scheme,
): Promise<ExpressionWarning[]> {
  const kinds = kindsToCheck(policy, scheme);
  const { variables = [], validations = [], paramKind } = policy.spec;
  const vocabulary = { params: paramKind !== undefined, authorizer: true };
  const params = paramsType(policy, scheme);
  const compilers: { readonly kind: ResourceDeclaration; readonly compiler: ExpressionCompiler }[] = [];
  for (const kind of kinds) {
    const object = typeOfKind(scheme, kind);
    const types = [schemaTypeProvider(params === undefined ? [object] : [object, params])];
    const objects = { object: object.type, params: params?.type ?? dynType, types };
    const compiler = new ExpressionCompiler({ composed: true, objects });
    for (const { name, expression } of variables) compiler.declare(name, expression, vocabulary);
    compilers.push({ kind, compiler });
    await threadTurns.take();
  }
  const warnings: ExpressionWarning[] = [];
  const look = async (fieldRef: string, expression: string | undefined): Promise<void> => {
    if (expression === undefined || expression === '') return;
    const told: string[] = [];
    for (const { kind, compiler } of compilers) {
      const { fault } = compiler.compile(expression, vocabulary);
      if (fault.startsWith(compilationFailed))
        told.push(`${keyOf(kind)}: ${fault.slice(compilationFailed.length)}\n`);
      await threadTurns.take();
    }
    if (told.length > 0) warnings.push({ fieldRef, warning: told.join('\n') });
  };
  for (const [i, { expression, messageExpression }] of validations.entries()) {
    await look(`spec.validations[${i}].expression`, expression);
    await look(`spec.validations[${i}].messageExpression`, messageExpression);
  }
  return warnings;
}
