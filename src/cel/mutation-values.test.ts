// Objects and patches that mutating policies make, and the JSON that they become.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType, formatType } from './cel-type.ts';
import { jsonValue } from './json-values.ts';
import { jsonPatchLibrary } from './libraries/json-patch.ts';
import { kubernetesEnvironment } from './libraries/kubernetes.ts';
import { mutationTypes, typeNameFaults, valueJson } from './mutation-values.ts';
import { assertValues, checkedExpression, evaluated } from './testing/expressions.ts';
import { CelError } from './value.ts';

const environment = kubernetesEnvironment.extend({
  libraries: [jsonPatchLibrary],
  types: mutationTypes,
  variables: { object: dynType },
});
const object = jsonValue({ spec: { replicas: 3 }, big: 1 });
const made = (text: string) => evaluated(text, { object }, environment).value;

test('objects have types after the paths of their fields, and become JSON', () => {
  const text =
    'Object{spec: Object.spec{replicas: object.spec.replicas + 1, paused: true, labels: {"a": "b"}, ?none: optional.none()}}';
  assert.equal(formatType(checkedExpression(text, environment).type), 'Object');
  assert.deepEqual(valueJson(made(text)), { spec: { replicas: 4, paused: true, labels: { a: 'b' } } });
  assert.deepEqual(typeNameFaults(made(text)), []);
  assert.deepEqual(typeNameFaults(made('Object{spec: Object.status{a: [Object.spec.b{}]}}')), [
    'unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type',
    'unexpected type name "Object.spec.b", expected "Object.spec.a", which matches field name path from root Object type',
  ]);
});

test('patches have fields of their own', () => {
  const text =
    '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: {"x": 1u}}]';
  assert.equal(formatType(checkedExpression(text, environment).type), 'list(JSONPatch)');
  assert.deepEqual(valueJson(made(text)), [{ op: 'add', path: '/metadata/labels/a~1b~0c', value: { x: 1 } }]);
  assertValues(
    [
      ['JSONPatch{op: "test"}.op', 'test'],
      ['has(JSONPatch{op: "test"}.path) || JSONPatch{op: "a"} == JSONPatch{op: "b"}', 'false'],
      ['JSONPatch{op: dyn(object.spec.replicas)}', "unexpected type int for JSONPatchType 'op' field"],
      ['Object{a: 1} == Object{a: 1.0} && dyn(Object{}) != Object.a{}', 'true'],
    ],
    { object },
    environment,
  );
});

test('what is no JSON is an error', () => {
  for (const [text, message] of [
    ['{1: 2}', 'map key "1" is of type int, not string'],
    ['[1.0 / 0.0]', 'Infinity is no JSON number'],
    ['{"a": type(1)}', 'type is no JSON value'],
  ] as const) {
    const json = valueJson(made(text));
    assert.ok(json instanceof CelError);
    assert.equal(json.message, message);
  }
  const prototype = valueJson(made('{"__proto__": {"a": 1}}'));
  assert.equal(JSON.stringify(prototype), '{"__proto__":{"a":1}}');
  assert.equal(JSON.stringify(valueJson(made('9223372036854775807'))), '9223372036854775807');
});
