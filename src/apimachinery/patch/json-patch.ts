// JSON patch (RFC 6902) with the limits and answers of kube-apiserver.

import { put } from '../../base/put.ts';
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { badRequest } from '../errors.ts';
import { readJson } from '../serializer/json-numbers.ts';
import { isJsonObject, own } from './own-property.ts';
import { assertShallow, FailedTestError, tooLarge, unprocessable } from './patch-error.ts';

/** Upstream's maxJSONPatchOperations. */
const maxOperations = 10_000;
/** What `copy` may add up to, in bytes of JSON: upstream's AccumulatedCopySizeLimit. */
const maxCopiedBytes = 3 << 20;
/** How many elements of lists the operations of one patch may move up or down, together: each is a step of the one thread. */
const maxMovedElements = 100_000_000;
/** Work of one step, counted in operations: moving 5,000 elements or copying 1,000 bytes counts as one more. */
const stepWeight = 250;
const elementsPerWeight = 5_000;
const bytesPerWeight = 1_000;

/** The patched object; `live` is not changed. Throws StatusError 400, 413 or 422. */
export const applyJsonPatch = (live: JsonObject, patch: Json): JsonObject =>
  atOnce(jsonPatchSteps(live, patch));

/** The same in steps, for long patches. */
export function* jsonPatchSteps(live: JsonObject, patch: Json): Steps<JsonObject> {
  if (!Array.isArray(patch))
    throw badRequest(
      `json: cannot unmarshal ${isJsonObject(patch) ? 'object' : typeof patch} into Go value of type jsonpatch.Patch`,
    );
  if (patch.length > maxOperations)
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`);
  assertShallow(patch);
  const document = new PatchedDocument(live);
  let done = 0;
  for (const operation of patch) {
    if (!isJsonObject(operation))
      throw badRequest('json: cannot unmarshal value into Go value of type jsonpatch.Operation');
    document.run(operation);
    if (document.weight - done < stepWeight) continue;
    done = document.weight;
    yield;
  }
  return document.result();
}

type Container = JsonObject | Json[];

/** Copies only the containers on the way to a change. */
class PatchedDocument {
  readonly #root: { root: Json };
  readonly #mine = new Set<Container>();
  #copied = 0;
  #moved = 0;
  #operations = 0;

  constructor(live: JsonObject) {
    this.#root = { root: live };
    this.#mine.add(this.#root);
  }

  /** How much has been done. */
  get weight(): number {
    return this.#operations + this.#moved / elementsPerWeight + this.#copied / bytesPerWeight;
  }

  result(): JsonObject {
    if (!isJsonObject(this.#root.root)) throw unprocessable();
    return this.#root.root;
  }

  run(operation: JsonObject): void {
    this.#operations++;
    const path = pointer(own(operation, 'path'));
    switch (own(operation, 'op')) {
      case 'add':
        this.#add(path, operand(operation));
        return;
      case 'remove':
        this.#take(path);
        return;
      case 'replace': {
        const value = operand(operation);
        this.#get(path);
        const [container, key] = this.#containerOf(path);
        if (Array.isArray(container)) container[indexIn(container, key, container.length - 1)] = value;
        else put(container, key, value);
        return;
      }
      case 'move':
        this.#add(path, this.#take(pointer(own(operation, 'from'))));
        return;
      case 'copy': {
        const text = JSON.stringify(this.#get(pointer(own(operation, 'from'))));
        this.#copied += text.length;
        if (this.#copied > maxCopiedBytes) throw unprocessable();
        this.#add(path, readJson(text));
        return;
      }
      case 'test':
        this.#test(path, own(operation, 'value'));
        return;
      default:
        throw unprocessable();
    }
  }

  #test(path: readonly string[], expected: Json | undefined): void {
    const actual = this.#find(path);
    // A member that is not there equals null.
    if (!identicalJson(actual ?? null, expected ?? null)) throw new FailedTestError();
  }

  #add(path: readonly string[], value: Json): void {
    const [container, key] = this.#containerOf(path);
    if (!Array.isArray(container)) put(container, key, value);
    else if (key === '-') container.push(value);
    else {
      const index = indexIn(container, key, container.length, 1);
      this.#move(container.length - index);
      container.splice(index, 0, value);
    }
  }

  #take(path: readonly string[]): Json {
    const value = this.#get(path);
    if (path.length === 0) throw unprocessable();
    const [container, key] = this.#containerOf(path);
    if (Array.isArray(container)) {
      const index = indexIn(container, key, container.length - 1);
      this.#move(container.length - index);
      container.splice(index, 1);
    } else delete container[key];
    return value;
  }

  #move(elements: number): void {
    this.#moved += elements;
    if (this.#moved > maxMovedElements)
      throw tooLarge(`The operations of a JSON patch may move ${maxMovedElements} elements of lists`);
  }

  #get(path: readonly string[]): Json {
    const value = this.#find(path);
    if (value === undefined) throw unprocessable();
    return value;
  }

  #find(path: readonly string[]): Json | undefined {
    let value: Json | undefined = this.#root.root;
    for (const key of path) {
      if (Array.isArray(value)) value = value[indexIn(value, key, value.length - 1)];
      else if (isJsonObject(value)) value = own(value, key);
      else return undefined;
    }
    return value;
  }

  /** The container of the last step, ours to change. */
  #containerOf(path: readonly string[]): [Container, string] {
    let container: Container = this.#root;
    let key = 'root';
    for (const step of path) {
      const child: Json | undefined = Array.isArray(container)
        ? container[indexIn(container, key, container.length - 1)]
        : own(container, key);
      if (typeof child !== 'object' || child === null) throw unprocessable();
      const mine: Container = this.#mine.has(child)
        ? child
        : Array.isArray(child)
          ? [...child]
          : { ...child };
      this.#mine.add(mine);
      if (Array.isArray(container)) container[indexIn(container, key, container.length - 1)] = mine;
      else put(container, key, mine);
      container = mine;
      key = step;
    }
    return [container, key];
  }
}

function operand(operation: JsonObject): Json {
  const value = own(operation, 'value');
  if (value === undefined) throw unprocessable();
  return value;
}

function pointer(text: Json | undefined): string[] {
  if (typeof text !== 'string') throw unprocessable();
  if (text === '') return [];
  if (!text.startsWith('/')) throw unprocessable();
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Negative indices count from the end, as upstream's library allows. */
function indexIn(list: readonly Json[], text: string, last: number, beyond = 0): number {
  if (!/^-?[0-9]{1,9}$/.test(text)) throw unprocessable();
  const index = Number(text);
  const at = index < 0 ? index + list.length + beyond : index;
  if (at < 0 || at > last) throw unprocessable();
  return at;
}
