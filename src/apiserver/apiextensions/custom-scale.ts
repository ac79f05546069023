// The scale subresource of a custom resource: replicas and selector are where its definition says.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { invalidObject } from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
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
      apply(parent, view) {
        const replicas = num(spec(view)['replicas']);
        if (replicas < 0)
          throw invalidObject({ group: 'autoscaling', kind: 'Scale' }, str(meta(view)['name']), [
            invalid('spec.replicas', replicas, 'should be a non-negative integer'),
          ]);
        return withValue(parent, pathsIn(parent).specPath, replicas);
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
