// Configuration files are read strictly: a field that nobody knows is a slip, and what it was meant for would not happen.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { isObject } from '../../apimachinery/json-access.ts';

/** What a value is: a word for plain ones, a list of one shape, or fields by name. */
export type Shape = 'string' | 'boolean' | readonly [Shape] | { readonly [field: string]: Shape };

const goType = (shape: Shape): string =>
  typeof shape === 'string'
    ? shape === 'boolean'
      ? 'bool'
      : shape
    : Array.isArray(shape)
      ? 'array'
      : 'object';

function* faultsOf(value: Json | undefined, shape: Shape, path: string): Generator<string> {
  if (value === undefined || value === null) return;
  const wrong = `field ${JSON.stringify(path)} must be of type ${goType(shape)}`;
  if (typeof shape === 'string') {
    if (typeof value !== shape) yield wrong;
    return;
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) yield wrong;
    else for (const [i, item] of value.entries()) yield* faultsOf(item, shape[0] as Shape, `${path}[${i}]`);
    return;
  }
  if (!isObject(value)) {
    yield wrong;
    return;
  }
  for (const [field, inner] of Object.entries(value)) {
    const at = path === '' ? field : `${path}.${field}`;
    const known = Object.hasOwn(shape, field) ? (shape as Record<string, Shape>)[field] : undefined;
    if (known === undefined) yield `unknown field ${JSON.stringify(at)}`;
    else yield* faultsOf(inner, known, at);
  }
}

const group = 'apiserver.config.k8s.io';

/** The object when it is of this kind and every field of it is known; throws what is wrong with it. */
export function readConfig(
  value: unknown,
  kind: string,
  versions: readonly string[],
  shape: Readonly<Record<string, Shape>>,
): JsonObject {
  const object = isObject(value as Json) ? (value as JsonObject) : undefined;
  if (object === undefined) throw new Error(`couldn't get version/kind; the file holds no object`);
  const { apiVersion, kind: given } = object;
  const version = versions.find((one) => apiVersion === `${group}/${one}`);
  if (version === undefined || given !== kind)
    throw new Error(
      `no kind ${JSON.stringify(given ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}: ${kind} of ${versions
        .map((one) => `${group}/${one}`)
        .join(', ')} is wanted`,
    );
  const faults = [...faultsOf(object, { apiVersion: 'string', kind: 'string', ...shape }, '')];
  if (faults.length > 0) throw new Error(`strict decoding error: ${faults.join(', ')}`);
  return object;
}
