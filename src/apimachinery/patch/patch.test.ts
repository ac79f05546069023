// The three patch engines: what they produce and what they answer to patches that cannot be.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Json, JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import type { StatusError } from '../errors.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { InapplicablePatchError } from './patch-error.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const types = JSON.parse(
  readFileSync(new URL('../../api/schema/types.json', import.meta.url), 'utf8'),
) as Record<string, TypeSchema>;
const source: SchemaSource = { type: (name) => types[name] };
const pod = (live: JsonObject, patch: Json): JsonObject =>
  applyStrategicMergePatch(live, patch, source, 'io.k8s.api.core.v1.Pod');
const fails =
  (code: number, message: string | RegExp) =>
  (error: StatusError): boolean => {
    assert.equal(error.code, code);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  };
const hidden = 'the server rejected our request due to an error in our request';

test('a merge patch merges objects, removes by null and replaces all else', () => {
  const live = { a: { b: 1, c: 2 }, list: [1, 2], s: 'x' };
  const frozen = structuredClone(live);
  assert.deepEqual(
    applyMergePatch(live, { a: { b: null, d: { e: null, f: 1 } }, list: [3, null], s: { t: 1 } }),
    {
      a: { c: 2, d: { f: 1 } },
      list: [3, null],
      s: { t: 1 },
    },
  );
  assert.deepEqual(live, frozen);
  assert.throws(() => applyMergePatch(live, [1]), fails(400, 'Invalid JSON Patch'));
});

test('no patch reaches a prototype', () => {
  const evil = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as Json;
  for (const result of [applyMergePatch({}, evil), pod({}, evil)]) {
    assert.equal(({} as { polluted?: number }).polluted, undefined);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
  }
  const added = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]);
  assert.equal((added as { polluted?: number }).polluted, undefined);
  assert.throws(
    () => applyJsonPatch({}, [{ op: 'add', path: '/__proto__/x', value: 1 }]),
    fails(422, hidden),
  );
  assert.throws(
    () => applyJsonPatch({}, [{ op: 'add', path: '/constructor/prototype/x', value: 1 }]),
    fails(422, hidden),
  );
});

test('a JSON patch runs every operation', () => {
  const live = { a: [1, 2, 3], m: { 'x/y': 1, '~': 2 }, from: { deep: [1] } };
  const frozen = structuredClone(live);
  const result = applyJsonPatch(live, [
    { op: 'test', path: '/m/x~1y', value: 1 },
    { op: 'test', path: '/nothing', value: null },
    { op: 'add', path: '/a/-', value: 4 },
    { op: 'add', path: '/a/0', value: 0 },
    { op: 'remove', path: '/a/1' },
    { op: 'replace', path: '/m/~0', value: 3 },
    { op: 'copy', from: '/from', path: '/to' },
    { op: 'add', path: '/to/deep/-', value: 2 },
    { op: 'move', from: '/from', path: '/moved' },
  ]);
  assert.deepEqual(result, {
    a: [0, 2, 3, 4],
    m: { 'x/y': 1, '~': 3 },
    to: { deep: [1, 2] },
    moved: { deep: [1] },
  });
  assert.deepEqual(live, frozen);
});

test('a JSON patch that cannot be applied is refused as kube-apiserver does', () => {
  const live = { a: [1], s: 'x' };
  const bad: Json[] = [
    [{ op: 'test', path: '/s', value: 'y' }],
    [{ op: 'remove', path: '/no' }],
    [{ op: 'add', path: '/no/x', value: 1 }],
    [{ op: 'add', path: '/a/5', value: 1 }],
    [{ op: 'frob', path: '/a' }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/a/01x', value: 1 }],
    [{ op: 'move', from: '/q', path: '/a' }],
    [{ op: 'replace', path: '', value: 1 }],
  ];
  for (const patch of bad)
    assert.throws(() => applyJsonPatch(live, patch), fails(422, hidden), JSON.stringify(patch));
  assert.throws(() => applyJsonPatch(live, { op: 'add' }), fails(400, /cannot unmarshal object/));
  const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/s', value: 'x' }));
  assert.throws(
    () => applyJsonPatch(live, many),
    fails(
      413,
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    ),
  );
});

test('a JSON patch is read as the library of kube-apiserver reads it, which is not always what the RFC says', () => {
  const live = { a: [1], s: 'x', n: null };
  const cases: [JsonObject, JsonObject][] = [
    [
      { op: 'replace', path: '/no', value: 1 },
      { ...live, no: 1 },
    ],
    [
      { op: 'add', path: '/no' },
      { ...live, no: null },
    ],
    [
      { op: 'copy', from: '/no', path: '/to' },
      { ...live, to: null },
    ],
    [
      { op: 'add', path: 'ignored/s', value: 'y' },
      { ...live, s: 'y' },
    ],
    [
      { op: 'add', path: '/a/+1', value: 2 },
      { ...live, a: [1, 2] },
    ],
    [
      { op: 'replace', path: '/a/-1', value: 2 },
      { ...live, a: [2] },
    ],
    [{ op: 'replace', path: '', value: { b: 1 } }, { b: 1 }],
    [{ op: 'test', path: '', value: live }, live],
    [{ op: 'test', path: '/n' }, live],
  ];
  for (const [operation, expected] of cases)
    assert.deepEqual(applyJsonPatch(live, [operation]), expected, JSON.stringify(operation));
});

test('why a JSON patch cannot be applied is known in the words of that library to those who say it', () => {
  const live = { a: [1], s: 'x', n: null };
  const cases: [JsonObject, string][] = [
    [
      { op: 'add', path: '/no/x', value: 1 },
      'add operation does not apply: doc is missing path: "/no/x": missing value',
    ],
    [
      { op: 'add', path: '', value: {} },
      'add operation does not apply: doc is missing path: "": missing value',
    ],
    [{ op: 'add', value: 1 }, 'add operation failed to decode path: missing value'],
    [
      { op: 'add', path: '/a/5', value: 1 },
      "error in add for path: '/a/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { op: 'add', path: '/a/x', value: 1 },
      `error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { op: 'remove', path: '/no' },
      "error in remove for path: '/no': Unable to remove nonexistent key: no: missing value",
    ],
    [
      { op: 'remove', path: '/n/x' },
      'remove operation does not apply: doc is missing path: "/n/x": missing value',
    ],
    [
      { op: 'replace', path: '/a/1', value: 1 },
      'replace operation does not apply: doc is missing key: /a/1: missing value',
    ],
    [
      { op: 'replace', path: '/s/x', value: 1 },
      'replace operation does not apply: doc is missing path: /s/x: missing value',
    ],
    [
      { op: 'replace', path: 5 },
      'replace operation failed to decode path: json: cannot unmarshal number into Go value of type string',
    ],
    [
      { op: 'move', from: '/no', path: '/to' },
      "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
    ],
    [
      { op: 'move', path: '/to' },
      'move operation failed to decode from: operation, missing from field: missing value',
    ],
    [
      { op: 'copy', from: '/a/2', path: '/to' },
      "error in copy for from: '/a/2': Unable to access invalid index: 2: invalid index referenced",
    ],
    [
      { op: 'copy', from: '/a', path: '/no/to' },
      'copy operation does not apply: doc is missing destination path: /no/to: missing value',
    ],
    [
      { op: 'test', path: '/no/x', value: null },
      'test operation does not apply: is missing path: /no/x: missing value',
    ],
    [{ op: 'test', path: '/s', value: 'y' }, 'testing value /s failed: test failed'],
    [{ op: 'frob', path: '/s' }, 'Unexpected kind: frob'],
    [{ path: '/s' }, 'Unexpected kind: unknown'],
  ];
  for (const [operation, why] of cases)
    assert.throws(
      () => applyJsonPatch(live, [operation]),
      (error) => error instanceof InapplicablePatchError && assert.equal(error.why, why) === undefined,
      JSON.stringify(operation),
    );
});

test('operations that move a long list up or down each time are refused before they take seconds', () => {
  const list = { list: Array.from({ length: 600_000 }, () => 'z') };
  const at = (op: string): Json => Array.from({ length: 9_990 }, () => ({ op, path: '/list/0', value: 'z' }));
  for (const op of ['add', 'remove'])
    assert.throws(() => applyJsonPatch(list, at(op)), fails(413, /may move 100000000 elements of lists/));
  assert.equal((applyJsonPatch({ list: ['a', 'b'] }, at('add'))['list'] as Json[]).length, 9_992);
});

test('a copy bomb and a deep patch are refused quickly', () => {
  const bomb = Array.from({ length: 60 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }));
  assert.throws(() => applyJsonPatch({ a: ['xxxxxxxxxx'] }, bomb), fails(422, hidden));
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as Json;
  for (const apply of [
    () => applyMergePatch({}, deep),
    () => pod({}, deep),
    () => applyJsonPatch({}, [{ op: 'add', path: '/x', value: deep }]),
  ])
    assert.throws(apply, fails(400, 'json: exceeded max depth'));
});

const container = (name: string, image: string): JsonObject => ({ name, image });

test('a strategic merge patch merges lists by their key and keeps the order', () => {
  const live = {
    spec: { containers: [container('a', '1'), container('b', '2')], tolerations: [{ key: 'x' }] },
  };
  const frozen = structuredClone(live);
  assert.deepEqual(
    pod(live, {
      spec: {
        containers: [
          { name: 'b', image: '3' },
          { name: 'c', image: null },
        ],
        tolerations: [{ key: 'y' }],
      },
    }),
    {
      spec: {
        containers: [container('a', '1'), container('b', '3'), { name: 'c' }],
        tolerations: [{ key: 'y' }],
      },
    },
  );
  assert.deepEqual(live, frozen);
});

test('$patch deletes and replaces elements and maps', () => {
  const live = {
    spec: { containers: [container('a', '1'), container('b', '2')], nodeSelector: { x: '1', y: '2' } },
  };
  assert.deepEqual(pod(live, { spec: { containers: [{ name: 'a', $patch: 'delete' }] } }).spec, {
    ...live.spec,
    containers: [container('b', '2')],
  });
  assert.deepEqual(pod(live, { spec: { containers: [{ name: 'z' }, { $patch: 'replace' }] } }).spec, {
    ...live.spec,
    containers: [{ name: 'z' }],
  });
  assert.deepEqual(pod(live, { spec: { nodeSelector: { $patch: 'replace', z: '3' } } }).spec, {
    ...live.spec,
    nodeSelector: { z: '3' },
  });
  assert.throws(
    () => pod(live, { spec: { $patch: 'frob' } }),
    fails(500, 'unknown patch type: frob in map: map[$patch:frob]'),
  );
  assert.throws(
    () => pod(live, { spec: { containers: [{ image: 'x' }] } }),
    fails(500, 'map: map[image:x] does not contain declared merge key: name'),
  );
});

test('$setElementOrder orders, $deleteFromPrimitiveList removes, $retainKeys drops the rest', () => {
  const live = {
    metadata: { finalizers: ['a', 'b', 'c'] },
    spec: { containers: [container('a', '1'), container('b', '2')], volumes: [{ name: 'v', emptyDir: {} }] },
  };
  const result = pod(live, {
    metadata: { '$deleteFromPrimitiveList/finalizers': ['b'], '$setElementOrder/finalizers': ['c', 'a'] },
    spec: {
      '$setElementOrder/containers': [{ name: 'n' }, { name: 'b' }, { name: 'a' }],
      containers: [{ name: 'n', image: '9' }],
      volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }],
    },
  });
  assert.deepEqual(result, {
    metadata: { finalizers: ['c', 'a'] },
    spec: {
      containers: [container('n', '9'), container('b', '2'), container('a', '1')],
      volumes: [{ name: 'v', hostPath: { path: '/x' } }],
    },
  });
  assert.throws(
    () => pod(live, { spec: { volumes: [{ name: 'v', $retainKeys: ['name'], hostPath: {} }] } }),
    fails(400, 'invalid patch format of retainKeys'),
  );
});

test('where elements were deleted, new ones stand among those of the server, as upstream has it', () => {
  const live = { spec: { containers: ['old', 'mine', 'injected'].map((name) => container(name, 'i')) } };
  const patch = {
    spec: {
      '$setElementOrder/containers': [{ name: 'mine' }, { name: 'new' }],
      containers: [container('new', 'i'), { name: 'old', $patch: 'delete' }],
    },
  };
  const names = (patched: JsonObject): unknown =>
    (patched['spec'] as { containers: JsonObject[] }).containers.map(({ name }) => name);
  assert.deepEqual(names(pod(live, patch)), ['mine', 'injected', 'new']);
  patch.spec.containers.pop();
  assert.deepEqual(names(pod(live, patch)), ['old', 'mine', 'new', 'injected']);
});

test('a list that does not follow the order that it asks for is shown as Go shows it', () => {
  const patch = {
    spec: {
      '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
      containers: [container('b', 'i'), container('a', 'i')],
    },
  };
  assert.throws(
    () => pod({ spec: { containers: [] } }, patch),
    fails(
      500,
      "The order in patch list:\n[map[image:i name:b] map[image:i name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    ),
  );
});

test('a patch of nothing changes nothing, and applying a patch twice changes nothing more', () => {
  const live = { metadata: { labels: { a: '1' } }, spec: { containers: [container('a', '1')] } };
  const patch = { metadata: { labels: { b: '2' } }, spec: { containers: [{ name: 'b', image: 'x' }] } };
  for (const apply of [applyMergePatch, pod]) {
    assert.deepEqual(apply(live, {}), live);
    assert.deepEqual(apply(apply(live, patch), patch), apply(live, patch));
  }
});

test('lists of tens of thousands are merged and ordered in one pass', () => {
  const names = Array.from({ length: 40_000 }, (_, i) => ({ name: `c${i}`, image: 'x' }));
  const live = pod({ spec: { containers: [{ name: 'c', image: 'i' }] } }, { spec: { containers: names } });
  const patch = { '$setElementOrder/containers': names.map(({ name }) => ({ name })), containers: names };
  const again = pod(live, { spec: patch }) as { spec: { containers: Json[] } };
  assert.equal(again.spec.containers.length, 40_001);
});
