// The scale subresource of a custom resource: replicas and selector are where its definition says.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { internalError } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { goTypeOf, goValue } from '../../apimachinery/go-format.ts';
import { isObject, meta, num, obj, spec, str } from '../../apimachinery/json-access.ts';
import type { TableForm } from '../../apimachinery/table.ts';
import type { RestHandler } from '../registry/rest-storage.ts';
import { ageDescription, printerColumns } from './printer-columns.ts';

/** `.spec.replicas` as names; upstream allows nothing else here. */
const namesOf = (path: Json | undefined): string[] =>
  str(path)
    .split('.')
    .filter((name) => name !== '');

function at(object: JsonObject, names: readonly string[]): Json | undefined {
  let value: Json | undefined = object;
  for (const name of names) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function withValue(object: JsonObject, names: readonly string[], value: Json): JsonObject {
  const [first, ...rest] = names;
  if (first === undefined) return object;
  return { ...object, [first]: rest.length === 0 ? value : withValue(obj(object[first]), rest, value) };
}

interface ScalePaths {
  readonly specPath: readonly string[];
  readonly statusPath: readonly string[];
  readonly selectorPath: readonly string[];
}

const pathsOf = (scale: JsonObject): ScalePaths => ({
  specPath: namesOf(scale['specReplicasPath']),
  statusPath: namesOf(scale['statusReplicasPath']),
  selectorPath: namesOf(scale['labelSelectorPath']),
});

const most = 2 ** 31 - 1;

/** What is at `path`, as upstream's accessors find it; `fault`: why nothing can be there. */
function found(object: JsonObject, path: string): { readonly value?: Json; readonly fault?: string } {
  const names = namesOf(path);
  let value: Json = object;
  for (const [i, name] of names.entries()) {
    if (value === null) return {};
    if (!isObject(value))
      return { fault: accessFault(names.slice(0, i + 1), value, 'map[string]interface{}') };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name]!;
  }
  return { value };
}

const accessFault = (names: readonly string[], value: Json, wanted: string): string =>
  `.${names.join('.')} accessor error: ${goValue(value)} is of the type ${value === null ? '<nil>' : goTypeOf(value)}, expected ${wanted}`;

function replicaErrors(object: JsonObject, path: string): FieldError[] {
  const { value, fault } = found(object, path);
  if (fault !== undefined) return [invalid(path, 0, fault)];
  if (value === undefined) return [];
  const names = namesOf(path);
  if (typeof value !== 'bigint' && !Number.isInteger(value))
    return [invalid(path, 0, accessFault(names, value, 'int64'))];
  const replicas = value as number | bigint;
  if (replicas < 0) return [invalid(path, replicas, 'should be a non-negative integer')];
  return replicas > most ? [invalid(path, replicas, `should be less than or equal to ${most}`)] : [];
}

function selectorErrors(object: JsonObject, path: string): FieldError[] {
  const { value, fault } = found(object, path);
  if (fault !== undefined) return [invalid(path, '', fault)];
  if (value === undefined || typeof value === 'string') return [];
  return [invalid(path, '', accessFault(namesOf(path), value, 'string'))];
}

/** An object whose scale could not be shown is refused; a change of the status is asked for its status alone. */
export function scaleErrors(object: JsonObject, scale: JsonObject, ofStatus: boolean): FieldError[] {
  const selector = scale['labelSelectorPath'];
  return [
    ...(ofStatus ? [] : replicaErrors(object, str(scale['specReplicasPath']))),
    ...replicaErrors(object, str(scale['statusReplicasPath'])),
    ...(typeof selector === 'string' ? selectorErrors(object, selector) : []),
  ];
}

/** Upstream prints it by columns as a definition has them: no replicas are no number there. */
const table: TableForm = printerColumns({
  additionalPrinterColumns: [
    {
      name: 'Desired',
      type: 'integer',
      description: 'Number of desired replicas',
      jsonPath: '.spec.replicas',
    },
    {
      name: 'Available',
      type: 'integer',
      description: 'Number of actual replicas',
      jsonPath: '.status.replicas',
    },
    { name: 'Age', type: 'date', description: ageDescription, jsonPath: '.metadata.creationTimestamp' },
  ],
});

/**
 * spec.versions[*].subresources.scale, by the apiVersion that objects of the version say; `all` is all of them,
 * those that are not served too.
 */
export function customScale(
  scales: ReadonlyMap<string, JsonObject>,
  all: ReadonlyMap<string, JsonObject | undefined> = scales,
): RestHandler {
  const versions = new Map([...scales].map(([apiVersion, scale]) => [apiVersion, pathsOf(scale)]));
  const none = pathsOf({});
  const pathsIn = (parent: JsonObject): ScalePaths => versions.get(str(parent['apiVersion'])) ?? none;
  return {
    view: {
      get(parent) {
        const { selectorPath, specPath, statusPath } = pathsIn(parent);
        const { name, namespace, uid, resourceVersion, creationTimestamp } = meta(parent);
        const replicas = num(at(parent, specPath));
        const selector = selectorPath.length === 0 ? '' : str(at(parent, selectorPath));
        return {
          kind: 'Scale',
          apiVersion: 'autoscaling/v1',
          metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
          spec: replicas === 0 ? {} : { replicas },
          status: { replicas: num(at(parent, statusPath)), ...(selector === '' ? {} : { selector }) },
        };
      },
      check(parent) {
        const { specPath } = pathsIn(parent);
        if (at(parent, specPath) === undefined)
          throw internalError(`the spec replicas field ".${specPath.join('.')}" does not exist`);
      },
      apply(parent, view) {
        return withValue(parent, pathsIn(parent).specPath, num(spec(view)['replicas']));
      },
      table,
      replicasPath: (_, apiVersion) => {
        if (!all.has(apiVersion)) return undefined;
        const scale = all.get(apiVersion);
        return scale === undefined ? null : pathsOf(scale).specPath;
      },
    },
  };
}
