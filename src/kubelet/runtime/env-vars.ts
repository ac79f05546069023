// The environment of a container: services, envFrom and env, in upstream's order.
import type { ConfigMap, EnvVar, Pod, Secret } from '../../api/generated/types/core-v1.ts';
import { type AnyContainer, podNamespace } from '../pod-format.ts';
import { expand } from './env-expansion.ts';
import { createExecBudget, type ExecBudget } from './exec-budget.ts';
import { type FieldContext, fieldValue, resourceValue } from './field-ref.ts';
import { type ServiceLister, serviceEnvCount, serviceEnvVars, servicesForEnv } from './service-env-vars.ts';

/** Where ConfigMaps and Secrets come from; undefined: there is none of that name. */
export interface ObjectSource {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
}

export interface EnvInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly services: ServiceLister;
  readonly objects: ObjectSource;
  readonly fields: FieldContext;
  /** Called with the keys of an envFrom that can't be variable names. */
  readonly skipped?: (message: string) => void;
}

/** A Map keeps order and knows no prototype. */
export type Environment = Map<string, string>;

// Since 1.30 (RelaxedEnvironmentVariableValidation): any printable ASCII character except '='.
const isVariableName = (name: string): boolean => /^[ -<>-~]+$/.test(name);
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');

/** An object's data. Values are decoded when they are asked for: thousands of variables may each name one key of it. */
interface Data {
  readonly keys: readonly string[];
  value(key: string): string | undefined;
}

async function dataOf(
  input: EnvInput,
  kind: 'configmap' | 'secret',
  name: string,
  optional: boolean,
): Promise<Data | undefined> {
  const namespace = podNamespace(input.pod);
  const isSecret = kind === 'secret';
  const object = await (isSecret
    ? input.objects.secret(namespace, name)
    : input.objects.configMap(namespace, name));
  if (object) {
    const data = object.data ?? {};
    return {
      get keys() {
        return Object.keys(data);
      },
      value: (key) => {
        if (!Object.hasOwn(data, key)) return undefined;
        return isSecret ? fromBase64(data[key]!) : data[key];
      },
    };
  }
  if (optional) return undefined;
  throw new Error(`${kind} "${name}" not found`);
}

function setVariable(to: Environment, budget: ExecBudget, name: string, value: string): void {
  budget.spend(name, value);
  to.set(name, value);
}

async function addEnvFrom(input: EnvInput, result: Environment, budget: ExecBudget): Promise<void> {
  for (const source of input.container.envFrom ?? []) {
    const kind = source.configMapRef ? 'configmap' : 'secret';
    const ref = source.configMapRef ?? source.secretRef;
    if (!ref) continue;
    const data = await dataOf(input, kind, ref.name ?? '', ref.optional === true);
    const refused: string[] = [];
    const keys = data?.keys ?? [];
    budget.reserve(keys.length);
    for (const key of keys) {
      const name = `${source.prefix ?? ''}${key}`;
      if (isVariableName(name)) setVariable(result, budget, name, data?.value(key) ?? '');
      else refused.push(name);
    }
    if (refused.length > 0) {
      const where = `${podNamespace(input.pod)}/${ref.name}`;
      input.skipped?.(
        `Keys [${refused.sort().join(', ')}] from the EnvFrom ${kind === 'configmap' ? 'configMap' : 'secret'} ${where} were skipped since they are considered invalid environment variable names.`,
      );
    }
  }
}

async function keyValue(
  input: EnvInput,
  kind: 'configmap' | 'secret',
  ref: { readonly name?: string | undefined; readonly key: string; readonly optional?: boolean | undefined },
): Promise<string | undefined> {
  const data = await dataOf(input, kind, ref.name ?? '', ref.optional === true);
  if (data === undefined) return undefined;
  const value = data.value(ref.key);
  if (value !== undefined || ref.optional) return value;
  const label = kind === 'configmap' ? 'ConfigMap' : 'Secret';
  throw new Error(`couldn't find key ${ref.key} in ${label} ${podNamespace(input.pod)}/${ref.name}`);
}

/** Undefined: an optional source that is not there, so there is no variable. */
async function variableValue(
  input: EnvInput,
  variable: EnvVar,
  lookup: (name: string) => string | undefined,
): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (!from) return expand(variable.value ?? '', lookup);
  if (from.fieldRef) return fieldValue(input.pod, from.fieldRef, input.fields);
  if (from.resourceFieldRef) {
    const { containerName } = from.resourceFieldRef;
    return resourceValue(
      input.pod,
      from.resourceFieldRef,
      containerName || input.container.name,
      input.fields,
    );
  }
  // Said rather than left empty: a program must not start without what it was promised.
  if (from.fileKeyRef)
    throw new Error(
      `variable "${variable.name}": this node does not read variables from files (fileKeyRef) yet`,
    );
  if (from.configMapKeyRef) return keyValue(input, 'configmap', from.configMapKeyRef);
  return from.secretKeyRef ? keyValue(input, 'secret', from.secretKeyRef) : undefined;
}

/**
 * The variables of Services, and what is left beside them. They are counted first: a namespace may have a million, of
 * which each start of each container would make tens of megabytes that no program can be started with.
 */
function serviceVariables(input: EnvInput): { readonly services: Environment; readonly budget: ExecBudget } {
  const links = input.pod.spec.enableServiceLinks ?? true;
  const chosen = servicesForEnv(input.services, podNamespace(input.pod), links);
  const count = serviceEnvCount(chosen);
  const remedy = "enableServiceLinks: false in the pod's spec leaves out those of its namespace";
  const hint = links && chosen.length > 1 ? `, ${count} variables of Services among them: ${remedy}` : '';
  const budget = createExecBudget(`the environment of container "${input.container.name}"`, hint);
  budget.reserve(count);
  const services: Environment = new Map();
  const sorted = chosen.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const [name, value] of serviceEnvVars(sorted)) setVariable(services, budget, name, value);
  return { services, budget };
}

/** Throws Error with upstream's text; the container is then in CreateContainerConfigError. */
export async function containerEnvironment(input: EnvInput): Promise<Environment> {
  const { services, budget } = serviceVariables(input);
  const result: Environment = new Map();
  await addEnvFrom(input, result, budget);
  budget.reserve(input.container.env?.length ?? 0);
  for (const variable of input.container.env ?? []) {
    const value = await variableValue(input, variable, (name) => result.get(name) ?? services.get(name));
    // A variable that is set here hides a service's, also for expansion.
    services.delete(variable.name);
    if (value !== undefined) setVariable(result, budget, variable.name, value);
  }
  for (const [name, value] of services) if (!result.has(name)) result.set(name, value);
  return result;
}
