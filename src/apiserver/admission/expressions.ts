// What CEL expressions about admission may use, and their programs: of webhooks' match conditions and of policies. Loaded when there
// are some: the language takes a tenth of a second to load, and most servers have no such expressions.
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import { boolType, type CelType, dynType, isExactType, listOf, structType } from '../../cel/cel-type.ts';
import { CheckedExpression, compileExpression } from '../../cel/compile.ts';
import type { Environment, TypeProvider } from '../../cel/environment.ts';
import { authorizerType, resourceCheckType } from '../../cel/libraries/authz.ts';
import { jsonPatchLibrary } from '../../cel/libraries/json-patch.ts';
import { kubernetesEnvironment } from '../../cel/libraries/kubernetes.ts';
import { mutationTypes } from '../../cel/mutation-values.ts';
import { PlanError } from '../../cel/plan.ts';
import type { Program } from '../../cel/program.ts';
import { type SchemaField, type SchemaType, schemaType, schemaTypeProvider } from '../../cel/schema-type.ts';

const text: StructuralSchema = { type: 'string' };
const texts: StructuralSchema = { type: 'array', items: text };
const time: StructuralSchema = { type: 'string', format: 'date-time' };
const whole: StructuralSchema = { type: 'integer' };
const textMap: StructuralSchema = { type: 'object', additionalProperties: text };
const anything: StructuralSchema = { 'x-kubernetes-int-or-string': true };

const alike = <T>(of: T, ...names: readonly string[]): Record<string, T> =>
  Object.fromEntries(names.map((name) => [name, of]));

/** An object under a name of its own: errors tell it, and two of one name are of one type. */
function named(name: string, fields: Readonly<Record<string, StructuralSchema | SchemaType>>): SchemaType {
  const members = new Map<string, SchemaField>();
  for (const [key, field] of Object.entries(fields)) {
    const type = isSchemaType(field) ? field : schemaType(field, `${name}.${key}`);
    members.set(key, { name: key, written: key, type, declared: true });
  }
  return { ...schemaType({ type: 'object' }, name), fields: members, members };
}
const isSchemaType = (one: StructuralSchema | SchemaType): one is SchemaType => 'members' in one;

const kind = named('kubernetes.GroupVersionKind', alike(text, 'group', 'version', 'kind'));
const resource = named('kubernetes.GroupVersionResource', alike(text, 'group', 'version', 'resource'));

/** AdmissionRequest without its objects, which are variables of their own. */
const requestType: SchemaType = named('kubernetes.AdmissionRequest', {
  ...alike(kind, 'kind', 'requestKind'),
  ...alike(resource, 'resource', 'requestResource'),
  ...alike(text, 'subResource', 'requestSubResource', 'name', 'namespace', 'operation'),
  userInfo: named('kubernetes.UserInfo', {
    ...alike(text, 'username', 'uid'),
    groups: texts,
    extra: { type: 'object', additionalProperties: texts },
  }),
  dryRun: { type: 'boolean' },
  options: anything,
});

const condition = named('kubernetes.NamespaceCondition', {
  ...alike(text, 'status', 'type', 'message', 'reason'),
  lastTransitionTime: time,
});
/** As upstream has it, with its `UID`; expressions name no other members. */
const namespaceType: SchemaType = named('kubernetes.Namespace', {
  metadata: named('kubernetes.NamespaceMetadata', {
    ...alike(text, 'name', 'generateName', 'namespace', 'UID', 'resourceVersion'),
    ...alike(textMap, 'labels', 'annotations'),
    ...alike(time, 'creationTimestamp', 'deletionTimestamp'),
    ...alike(whole, 'deletionGracePeriodSeconds', 'generation'),
    finalizers: texts,
  }),
  spec: named('kubernetes.NamespaceSpec', { finalizers: texts }),
  status: named('kubernetes.NamespaceStatus', {
    conditions: { ...condition, kind: 'list', type: listOf(condition.type), element: condition },
    phase: text,
  }),
});

/** What an expression may use besides objects, request and namespace. */
export interface Vocabulary {
  readonly params?: boolean;
  readonly authorizer?: boolean;
  /** Makes objects and patches. */
  readonly patches?: boolean;
}

const requestTypes: TypeProvider = schemaTypeProvider([requestType, namespaceType]);
export const variablesType: CelType = structType('kubernetes.variables');

/** Each type belongs to the first that knows it. */
function together(providers: readonly TypeProvider[]): TypeProvider {
  const ownerOf = (name: string): TypeProvider | undefined =>
    providers.find((one) => one.findType(name) !== undefined);
  return {
    findType: (name) => ownerOf(name)?.findType(name),
    findField: (type, field) => ownerOf(type)?.findField(type, field),
    build: (name, fields) => ownerOf(name)!.build!(name, fields),
  };
}

let patching: Environment | undefined;
/** What it is checked against where the objects are not of any kind. */
export interface ObjectTypes {
  readonly object: CelType;
  readonly params: CelType;
  readonly types: readonly TypeProvider[];
}
const anyObjects: ObjectTypes = { object: dynType, params: dynType, types: [] };

function environmentFor(
  { params = false, authorizer = false, patches = false }: Vocabulary,
  variables: TypeProvider | undefined,
  objects: ObjectTypes,
): Environment {
  patching ??= kubernetesEnvironment.extend({ libraries: [jsonPatchLibrary] });
  const types = [requestTypes, ...objects.types];
  if (variables) types.push(variables);
  if (patches) types.push(mutationTypes);
  return (patches ? patching : kubernetesEnvironment).extend({
    types: together(types),
    variables: {
      object: objects.object,
      oldObject: objects.object,
      namespaceObject: namespaceType.type,
      request: requestType.type,
      ...(params ? { params: objects.params } : {}),
      ...(authorizer ? { authorizer: authorizerType } : {}),
      // Upstream's checks of types do not know it.
      ...(authorizer && objects === anyObjects ? { 'authorizer.requestResource': resourceCheckType } : {}),
      ...(variables ? { variables: variablesType } : {}),
    },
  });
}

export interface CompiledExpression {
  readonly text: string;
  /** undefined: see `fault`. */
  readonly program: Program | undefined;
  /** Why it has none, in upstream's words. */
  readonly fault: string;
  /** The fault is not its author's. */
  readonly isInternal: boolean;
  readonly type: CelType;
  /** It may ask the authorizer, by itself or through a variable. */
  readonly asks: boolean;
}

/** As Go's `%v` has a type of CEL. */
const typeText = ({ name, params }: CelType): string =>
  params.length === 0 ? name : `${name}(${params.map(typeText).join(', ')})`;

/** What variables of such a type are to others: upstream loses all but these. */
function declaredType(type: CelType): CelType {
  if (type.kind === 'list' || type.kind === 'map')
    return type.params.length === 0
      ? type
      : new (type.constructor as typeof CelType)(type.kind, type.name, type.params.map(declaredType));
  return ['opaque', 'struct', 'type', 'param', 'error'].includes(type.kind) ? dynType : type;
}

/** Compiles the expressions of one policy, or of whatever else has some; variables in the order in which they are declared. */
export class ExpressionCompiler {
  readonly variables: Map<string, CompiledExpression> = new Map();
  readonly #provider: TypeProvider | undefined;
  readonly #objects: ObjectTypes;
  readonly #environments = new Map<string, Environment>();

  constructor(options: { readonly composed?: boolean; readonly objects?: ObjectTypes } = {}) {
    this.#objects = options.objects ?? anyObjects;
    this.#provider = options.composed
      ? {
          findType: (name) => (name === variablesType.name ? variablesType : undefined),
          findField: (_, field) => {
            const found = this.variables.get(field);
            return found && declaredType(found.type);
          },
        }
      : undefined;
  }

  #environment(vocabulary: Vocabulary): Environment {
    const { params = false, authorizer = false, patches = false } = vocabulary;
    const key = `${params}${authorizer}${patches}`;
    let found = this.#environments.get(key);
    if (found === undefined) {
      found = environmentFor(vocabulary, this.#provider, this.#objects);
      this.#environments.set(key, found);
    }
    return found;
  }

  /** `wanted`: what it may give; nothing is said for anything. */
  compile(text: string, vocabulary: Vocabulary, wanted?: readonly CelType[]): CompiledExpression {
    const found = compileExpression(text, this.#environment(vocabulary));
    if (!(found instanceof CheckedExpression)) return faulty(text, `compilation failed: ${found}`);
    if (wanted !== undefined && !wanted.some((type) => isExactType(type, found.type))) {
      const what = wanted.length === 1 ? typeText(wanted[0]!) : `one of [${wanted.map(typeText).join(' ')}]`;
      return faulty(text, `must evaluate to ${what} but got ${typeText(found.type)}`);
    }
    const asks =
      found.uses('authorizer') ||
      found.uses('authorizer.requestResource') ||
      (found.uses('variables') && [...this.variables.values()].some((variable) => variable.asks));
    try {
      return { text, program: found.program(), fault: '', isInternal: false, type: found.type, asks };
    } catch (error) {
      if (!(error instanceof PlanError)) throw error;
      return { ...faulty(text, `program instantiation failed: ${error.message}`), isInternal: true };
    }
  }

  /** Those that follow may use it. */
  declare(name: string, text: string, vocabulary: Vocabulary): CompiledExpression {
    const compiled = this.compile(text, vocabulary);
    this.variables.set(name, compiled);
    return compiled;
  }
}

const faulty = (text: string, fault: string): CompiledExpression => ({
  text,
  program: undefined,
  fault,
  isInternal: false,
  type: dynType,
  asks: false,
});

const conditions = new ExpressionCompiler();
/** A match condition of a webhook. */
export const compiledCondition = (text: string): CompiledExpression =>
  conditions.compile(text, { authorizer: true }, [boolType]);
