// JSON patch (RFC 6902) as kube-apiserver's library (evanphx/json-patch v4) reads it, with the limits and words of both.

import { put } from '../../base/put.ts';
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { badRequest } from '../errors.ts';
import { readJson } from '../serializer/json-numbers.ts';
import { isJsonObject, own } from './own-property.ts';
import { assertShallow, FailedTestError, InapplicablePatchError, tooLarge } from './patch-error.ts';

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

/** The patched object; `live` is not changed. Throws StatusError 400 and 413, and InapplicablePatchError. */
export const applyJsonPatch = (live: JsonObject, patch: Json): JsonObject =>
  atOnce(jsonPatchSteps(live, patch));

/** The same in steps, for long patches. */
export function* jsonPatchSteps(live: JsonObject, patch: Json): Steps<JsonObject> {
  // As Go reads null into a list: there is nothing to do.
  if (patch === null) return live;
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
    if (operation === null) throw new InapplicablePatchError('Unexpected kind: unknown');
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

const missing = 'missing value';

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
    if (!isJsonObject(this.#root.root)) throw new InapplicablePatchError('the patched object is a list');
    return this.#root.root;
  }

  run(operation: JsonObject): void {
    this.#operations++;
    const op = own(operation, 'op');
    switch (op) {
      case 'add':
        this.#add(addressIn(operation, op, 'path', missing), own(operation, 'value'));
        return;
      case 'remove':
        this.#remove(addressIn(operation, op, 'path', missing));
        return;
      case 'replace':
        this.#replace(addressIn(operation, op, 'path'), own(operation, 'value'));
        return;
      case 'move':
        this.#move(operation);
        return;
      case 'copy':
        this.#copy(operation);
        return;
      case 'test':
        this.#test(addressIn(operation, op, 'path'), own(operation, 'value'));
        return;
      default:
        throw new InapplicablePatchError(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
    }
  }

  #add(path: string, value: Json | undefined): void {
    const [container, key] = this.#containerOf(path, 'add', 'path', (at) => JSON.stringify(at));
    this.#insert(container, key, value, `error in add for path: '${path}'`);
  }

  #remove(path: string): void {
    const [container, key] = this.#containerOf(path, 'remove', 'path', (at) => JSON.stringify(at));
    this.#delete(container, key, `error in remove for path: '${path}'`);
  }

  /** What is not there is added, as kube-apiserver does it and the RFC does not; an element of a list has to be there. */
  #replace(path: string, value: Json | undefined): void {
    if (path === '') {
      if (typeof value !== 'object' || value === null)
        throw new InapplicablePatchError('replace operation value must be object or array: %!w(<nil>)');
      this.#root.root = value;
      return;
    }
    const [container, key] = this.#containerOf(path, 'replace', 'path');
    if (!Array.isArray(container)) {
      put(container, key, value ?? null);
      return;
    }
    const index = elementAt(container, key);
    if (typeof index === 'string')
      throw new InapplicablePatchError(
        `replace operation does not apply: doc is missing key: ${path}: ${missing}`,
      );
    container[index] = value ?? null;
  }

  #move(operation: JsonObject): void {
    const from = addressIn(operation, 'move', 'from');
    const [source, name] = this.#containerOf(from, 'move', 'from path');
    const value = valueAt(source, name, `error in move for path: '${name}'`);
    this.#delete(source, name, `error in move for path: '${name}'`);
    const path = addressIn(operation, 'move', 'path');
    const [target, key] = this.#containerOf(path, 'move', 'destination path');
    this.#insert(target, key, value, `error in move for path: '${path}'`);
  }

  /** Of what is not there the copy is null. */
  #copy(operation: JsonObject): void {
    const from = addressIn(operation, 'copy', 'from');
    const [source, name] = this.#containerOf(from, 'copy', 'from path');
    const value = valueAt(source, name, `error in copy for from: '${from}'`);
    const path = addressIn(operation, 'copy', 'path', missing);
    const [target, key] = this.#containerOf(path, 'copy', 'destination path');
    const text = JSON.stringify(value ?? null);
    this.#copied += value === undefined ? 0 : text.length;
    if (this.#copied > maxCopiedBytes)
      throw new InapplicablePatchError(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copied}, exceeding the limit ${maxCopiedBytes}`,
      );
    this.#insert(target, key, readJson(text), 'error while adding value during copy');
  }

  /** What is not there equals null, if what it would be in is there. */
  #test(path: string, expected: Json | undefined): void {
    const actual = path === '' ? this.#root.root : this.#tested(path);
    if (!identicalJson(actual ?? null, expected ?? null)) throw new FailedTestError(path);
  }

  #tested(path: string): Json | undefined {
    const found = this.#locate(path, false);
    if (found === undefined)
      throw new InapplicablePatchError(`test operation does not apply: is missing path: ${path}: ${missing}`);
    return valueAt(...found, `error in test for path: '${path}'`);
  }

  #insert(container: Container, key: string, value: Json | undefined, doing: string): void {
    if (!Array.isArray(container)) {
      put(container, key, value ?? null);
      return;
    }
    if (key === '-') {
      container.push(value ?? null);
      return;
    }
    const index = elementAt(container, key, 1);
    if (typeof index === 'string') {
      const isNumber = index.startsWith('Unable');
      const why = isNumber ? index : `value was not a proper array index: '${key}': ${index}`;
      throw new InapplicablePatchError(`${doing}: ${why}`);
    }
    this.#shift(container.length - index);
    container.splice(index, 0, value ?? null);
  }

  #delete(container: Container, key: string, doing: string): void {
    if (!Array.isArray(container)) {
      if (own(container, key) === undefined)
        throw new InapplicablePatchError(`${doing}: Unable to remove nonexistent key: ${key}: ${missing}`);
      delete container[key];
      return;
    }
    const index = elementAt(container, key);
    if (typeof index === 'string') throw new InapplicablePatchError(`${doing}: ${index}`);
    this.#shift(container.length - index);
    container.splice(index, 1);
  }

  #shift(elements: number): void {
    this.#moved += elements;
    if (this.#moved > maxMovedElements)
      throw tooLarge(`The operations of a JSON patch may move ${maxMovedElements} elements of lists`);
  }

  /** The container that a path leads into, ours to change. */
  #containerOf(
    path: string,
    op: string,
    end: string,
    shown: (path: string) => string = String,
  ): [Container, string] {
    const found = this.#locate(path, true);
    if (found !== undefined) return found;
    throw new InapplicablePatchError(
      `${op} operation does not apply: doc is missing ${end}: ${shown(path)}: ${missing}`,
    );
  }

  /** `isChanged`: what is on the way becomes ours. What stands before the first slash says nothing. */
  #locate(path: string, isChanged: boolean): [Container, string] | undefined {
    const [first, ...steps] = path.split('/').map(unescaped);
    const key = steps.pop();
    if (first === undefined || key === undefined) return undefined;
    let container: Container = this.#root;
    for (const step of ['root', ...steps]) {
      const place: number | string = Array.isArray(container) ? elementAt(container, step) : step;
      if (Array.isArray(container) && typeof place === 'string') return undefined;
      const child: Json | undefined = Array.isArray(container)
        ? container[place as number]
        : own(container, step);
      if (typeof child !== 'object' || child === null) return undefined;
      if (!isChanged || this.#mine.has(child)) {
        container = child;
        continue;
      }
      const mine: Container = Array.isArray(child) ? [...child] : { ...child };
      this.#mine.add(mine);
      if (Array.isArray(container)) container[place as number] = mine;
      else put(container, step, mine);
      container = mine;
    }
    return [container, key];
  }
}

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** `unsaid`: what the library says of every fault, where it does not say the fault itself. */
function addressIn(operation: JsonObject, op: string, field: 'path' | 'from', unsaid?: string): string {
  const text = own(operation, field);
  if (typeof text === 'string') return text;
  const isAbsent = text === undefined || text === null;
  const found = Array.isArray(text) ? 'array' : typeof text === 'boolean' ? 'bool' : typeof text;
  const why = isAbsent
    ? `operation${field === 'path' ? ' missing path' : ', missing from'} field: ${missing}`
    : `json: cannot unmarshal ${found} into Go value of type string`;
  throw new InapplicablePatchError(`${op} operation failed to decode ${field}: ${unsaid ?? why}`);
}

/** undefined: an object has no such member. Throws InapplicablePatchError for what is no element of a list. */
function valueAt(container: Container, key: string, doing: string): Json | undefined {
  if (!Array.isArray(container)) return own(container, key);
  const index = elementAt(container, key);
  if (typeof index === 'string') throw new InapplicablePatchError(`${doing}: ${index}`);
  return container[index];
}

/** Negative indices count from the end, as upstream's library allows. Or why there is no such element; `beyond`: one may be added. */
function elementAt(list: readonly Json[], text: string, beyond = 0): number | string {
  if (!/^[+-]?[0-9]{1,18}$/.test(text))
    return `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  const index = Number(text);
  const length = list.length + beyond;
  if (index >= length || index < -length)
    return `Unable to access invalid index: ${index}: invalid index referenced`;
  return index < 0 ? index + length : index;
}
