// Random patches: JSON patch against another implementation, merge patch against the words of its RFC.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastJsonPatch, { type Operation } from 'fast-json-patch';
import type { Json, JsonObject } from '../declaration.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { isJsonObject } from './own-property.ts';

let seed = 17;
function random(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return (seed >>> 8) % below;
}
function value(depth: number, nulls: boolean): Json {
  const kind = random(depth === 0 ? 3 : 5);
  if (kind === 0) return nulls ? null : 0;
  if (kind === 1) return random(5);
  if (kind === 2) return 'xyz'[random(3)]!;
  if (kind === 3) return Array.from({ length: random(4) }, () => value(depth - 1, nulls));
  return object(depth, nulls);
}
function object(depth: number, nulls: boolean): JsonObject {
  const made: JsonObject = {};
  for (let i = random(5); i > 0; i--) made['abcd/~'[random(6)]!] = value(depth - 1, nulls);
  return made;
}
function somePath(at: Json, forAdd: boolean): string {
  let path = '';
  let here: Json | undefined = at;
  for (let depth = random(4); depth >= 0; depth--) {
    if (Array.isArray(here)) {
      const index = random(here.length + (forAdd ? 1 : 0) || 1);
      path += `/${index}`;
      here = here[index];
    } else if (isJsonObject(here)) {
      const key = 'abcd/~'[random(6)]!;
      path += `/${key.replace('~', '~0').replace('/', '~1')}`;
      here = here[key];
    } else return path === '' ? '/a' : path;
  }
  return path;
}

/** As fast-json-patch is to be asked for what kube-apiserver does beyond the RFC: what is replaced or copied need not be there. */
function asStrict(document: unknown, operation: JsonObject): JsonObject {
  const at = (pointer: unknown): [unknown, unknown] => {
    const steps = String(pointer).split('/');
    const last = steps.pop();
    const holder: unknown = fastJsonPatch.getValueByPointer(document, steps.join('/'));
    const key = fastJsonPatch.unescapePathComponent(String(last));
    return [holder, isJsonObject(holder) && !Object.hasOwn(holder, key) ? undefined : key];
  };
  const { op, path, from } = operation;
  const isAbsent = (pointer: unknown): boolean => {
    const [holder, key] = at(pointer);
    return isJsonObject(holder) && key === undefined;
  };
  if (op === 'replace' && isAbsent(path)) return { ...operation, op: 'add' };
  return op === 'copy' && isAbsent(from) ? { op: 'add', path, value: null } : operation;
}

test('3,000 random JSON patches give what fast-json-patch gives, and fail where it fails', () => {
  let applied = 0;
  for (let i = 0; i < 3_000; i++) {
    const live = object(4, false);
    const frozen = JSON.stringify(live);
    const patch = Array.from({ length: 1 + random(3) }, (): JsonObject => {
      const op = ['add', 'remove', 'replace', 'copy', 'move'][random(5)]!;
      const path = somePath(live, op === 'add');
      if (op === 'remove') return { op, path };
      return op === 'copy' || op === 'move'
        ? { op, from: somePath(live, false), path }
        : { op, path, value: value(2, false) };
    });
    // Moving a value into itself is forbidden by the RFC and left open by the libraries.
    if (patch.some((p) => p.op === 'move' && `${String(p.path)}/`.startsWith(`${String(p.from)}/`))) continue;
    let expected: JsonObject | undefined;
    try {
      let document = structuredClone(live);
      for (const operation of structuredClone(patch)) {
        const strict = asStrict(document, operation) as unknown as Operation;
        document = fastJsonPatch.applyPatch(document, [strict], true).newDocument;
      }
      expected = document;
    } catch {
      // Refused.
    }
    if (expected === undefined)
      assert.throws(() => applyJsonPatch(live, patch), JSON.stringify([live, patch]));
    else {
      applied++;
      assert.deepEqual(applyJsonPatch(live, patch), expected, JSON.stringify([live, patch]));
    }
    assert.equal(JSON.stringify(live), frozen);
  }
  assert.ok(applied > 300);
});

/** RFC 7386, section 2, word for word. */
function rfc7386(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [name, member] of Object.entries(patch))
    if (member === null) delete result[name];
    else result[name] = rfc7386(result[name], member as Json);
  return result;
}
/** Upstream drops nulls of objects in lists, where the RFC keeps them. */
const nullInList = (at: Json | undefined, inList = false): boolean =>
  at === null || typeof at !== 'object'
    ? at === null && inList
    : Object.values(at).some((member) => nullInList(member, inList || Array.isArray(at)));

test('3,000 random merge patches give what the RFC says, and are idempotent', () => {
  for (let i = 0; i < 3_000; i++) {
    const live = object(4, false);
    const patch = object(3, true);
    const once = applyMergePatch(live, patch);
    if (!nullInList(patch)) assert.deepEqual(once, rfc7386(live, patch));
    assert.deepEqual(applyMergePatch(once, patch), once);
  }
});
