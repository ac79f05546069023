// The environment of a container: services, envFrom and env, in upstream's order.
import type { ConfigMap, EnvVar, Pod, Secret, Service } from '../../api/generated/types/core-v1.ts';
import { type AnyContainer, podNamespace } from '../pod-format.ts';
import { expand, withinLimit } from './env-expansion.ts';
import { type FieldContext, fieldValue, resourceValue } from './field-ref.ts';
import { serviceEnvVars, servicesForEnv } from './service-env-vars.ts';

/** Where ConfigMaps and Secrets come from; undefined: there is none of that name. */
export interface ObjectSource {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
}

export interface EnvInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly services: readonly Service[];
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

async function dataOf(
  input: EnvInput,
  kind: 'configmap' | 'secret',
  name: string,
  optional: boolean,
): Promise<Map<string, string> | undefined> {
  const namespace = podNamespace(input.pod);
  if (kind === 'configmap') {
    const object = await input.objects.configMap(namespace, name);
    if (object) return new Map(Object.entries(object.data ?? {}));
  } else {
    const object = await input.objects.secret(namespace, name);
    if (object) return new Map(Object.entries(object.data ?? {}).map(([k, v]) => [k, fromBase64(v)]));
  }
  if (optional) return undefined;
  throw new Error(`${kind} "${name}" not found`);
}

async function addEnvFrom(
  input: EnvInput,
  result: Environment,
  fit: (value: string) => string,
): Promise<void> {
  for (const source of input.container.envFrom ?? []) {
    const kind = source.configMapRef ? 'configmap' : 'secret';
    const ref = source.configMapRef ?? source.secretRef;
    if (!ref) continue;
    const data = await dataOf(input, kind, ref.name ?? '', ref.optional === true);
    const refused: string[] = [];
    for (const [key, value] of data ?? []) {
      const name = `${source.prefix ?? ''}${key}`;
      if (isVariableName(name)) result.set(name, fit(value));
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
  const value = data.get(ref.key);
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

/** Throws Error with upstream's text; the container is then in CreateContainerConfigError. */
export async function containerEnvironment(input: EnvInput): Promise<Environment> {
  const links = input.pod.spec.enableServiceLinks ?? true;
  const services = new Map(serviceEnvVars(servicesForEnv(input.services, podNamespace(input.pod), links)));
  const result: Environment = new Map();
  const fit = withinLimit(`the environment of container "${input.container.name}"`);
  await addEnvFrom(input, result, fit);
  for (const variable of input.container.env ?? []) {
    const value = await variableValue(input, variable, (name) => result.get(name) ?? services.get(name));
    // A variable that is set here hides a service's, also for expansion.
    services.delete(variable.name);
    if (value !== undefined) result.set(variable.name, fit(value));
  }
  for (const [name, value] of services) if (!result.has(name)) result.set(name, value);
  return result;
}
