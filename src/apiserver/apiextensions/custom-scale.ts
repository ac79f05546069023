// The scale subresource of a custom resource: replicas and selector are where its definition says.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { invalidObject } from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import { isObject, meta, num, obj, spec, str } from '../../apimachinery/json-access.ts';
import type { RestHandler } from '../registry/rest-storage.ts';

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

/** `scale` is spec.versions[*].subresources.scale. */
export function customScale(scale: JsonObject): RestHandler {
  const specPath = namesOf(scale['specReplicasPath']);
  const statusPath = namesOf(scale['statusReplicasPath']);
  const selectorPath = namesOf(scale['labelSelectorPath']);
  return {
    view: {
      get(parent) {
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
        return withValue(parent, specPath, replicas);
      },
    },
  };
}
