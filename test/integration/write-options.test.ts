// Options of writes that are wrong write nothing; bodies and paths must name the same object.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

const maps = '/api/v1/namespaces/w/configmaps';
const message = (answer: { json(): Record<string, unknown> }): unknown => answer.json()['message'];

test('a dry run that is not All is refused, and nothing is written', async () => {
  const made = await server.request('POST', `${maps}?dryRun=server`, { metadata: { name: 'a' } });
  assert.equal(made.status, 422);
  assert.equal(
    message(made),
    'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["server"]: supported values: "All"',
  );
  assert.equal((await server.request('GET', `${maps}/a`)).status, 404);
  await server.request('POST', maps, { metadata: { name: 'b' } });
  assert.equal((await server.request('DELETE', `${maps}/b?dryRun=yes`)).status, 422);
  assert.equal((await server.request('GET', `${maps}/b`)).status, 200);
});

test('the name of a field manager is short and printable', async () => {
  const long = await server.request('POST', `${maps}?fieldManager=${'x'.repeat(129)}`, {
    metadata: { name: 'c' },
  });
  assert.equal(
    message(long),
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
  );
  const odd = await server.request('POST', `${maps}?fieldManager=a%0Ab`, { metadata: { name: 'c' } });
  assert.equal(
    message(odd),
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)',
  );
});

const apply = 'application/apply-patch+yaml';
const merge = 'application/merge-patch+json';
const json = 'application/json-patch+json';
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' } };
const aboutMap = 'failed to create typed patch object (/o; /v1, Kind=ConfigMap): ';

const refusals: readonly (readonly [string, string, unknown, number, string])[] = [
  [
    merge,
    '?force=true',
    {},
    422,
    'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  ],
  [
    apply,
    '?dryRun=no',
    map,
    422,
    'PatchOptions.meta.k8s.io "" is invalid: [fieldManager: Required value: is required for apply patch, dryRun: Unsupported value: ["no"]: supported values: "All"]',
  ],
  [
    merge,
    '?fieldValidation=Loose',
    {},
    422,
    'PatchOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
  ],
  [
    merge,
    '',
    [1],
    400,
    'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  ],
  [merge, '?fieldValidation=Ignore', [1], 400, 'Invalid JSON Patch'],
  [merge, '', '{', 400, 'error decoding patch: unexpected end of JSON input'],
  [
    json,
    '',
    {},
    400,
    'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  ],
  [
    json,
    '?fieldValidation=Ignore',
    {},
    400,
    'json: cannot unmarshal object into Go value of type jsonpatch.Patch',
  ],
  [apply, '?fieldManager=m', { metadata: {} }, 400, 'invalid object type: /, Kind='],
  [
    apply,
    '?fieldManager=m',
    { ...map, apiVersion: 'a/v1' },
    400,
    'invalid object type: a/v1, Kind=ConfigMap',
  ],
  [
    apply,
    '?fieldManager=m',
    { ...map, data: { x: 5 } },
    500,
    `${aboutMap}.data.x: expected string, got &value.valueUnstructured{Value:5}`,
  ],
  [
    apply,
    '?fieldManager=m',
    { ...map, data: { x: { b: [true, null], a: 'q' } } },
    500,
    `${aboutMap}.data.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"q", "b":[]interface {}{true, interface {}(nil)}}}`,
  ],
  [apply, '?fieldManager=m', { ...map, data: 'x' }, 500, `${aboutMap}.data: expected map, got &{x}`],
  [
    apply,
    '?fieldManager=m',
    { ...map, immutable: 'yes' },
    500,
    `${aboutMap}.immutable: expected boolean, got &{yes}`,
  ],
  [
    apply,
    '?fieldManager=m',
    { ...map, metadata: { name: 'o', generation: 'x' } },
    500,
    `${aboutMap}.metadata.generation: expected numeric (int or float), got string`,
  ],
];

test('patches that say what they may not are refused in upstream’s words', async () => {
  await server.request('POST', maps, { metadata: { name: 'o' } });
  for (const [type, query, body, code, words] of refusals) {
    const headers = { 'content-type': type };
    const answer = await server.request('PATCH', `${maps}/o${query}`, body, { headers });
    assert.equal(message(answer), words, JSON.stringify(body));
    assert.equal(answer.status, code, words);
  }
});

test('an apply that would create makes the object that the path names', async () => {
  const answer = await server.request(
    'PATCH',
    `${maps}/one?fieldManager=m`,
    { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'two' } },
    { headers: { 'content-type': 'application/apply-patch+yaml' } },
  );
  assert.equal(answer.status, 400);
  assert.equal(message(answer), 'the name of the object (two) does not match the name on the URL (one)');
  assert.equal((await server.request('GET', `${maps}/two`)).status, 404);
});

test('a patch whose result has another type is told as a fault of the patch', async () => {
  await server.request('POST', maps, { metadata: { name: 'p' } });
  const answer = await server.request(
    'PATCH',
    `${maps}/p`,
    { data: { a: 1 } },
    { headers: { 'content-type': 'application/merge-patch+json' } },
  );
  assert.equal(answer.status, 422);
  const { causes } = answer.json()['details'] as { causes: { field: string; message: string }[] };
  assert.equal(causes[0]?.field, 'patch');
  assert.match(
    causes[0]?.message ?? '',
    /^Invalid value: .*json: cannot unmarshal number into Go struct field/,
  );
});

test('what a patch is told of its result is no matter of its words', async () => {
  await server.request('POST', maps, { metadata: { name: 'words' } });
  const patched = (body: object): ReturnType<TestServer['request']> =>
    server.request('PATCH', `${maps}/words?fieldValidation=Strict`, body, {
      headers: { 'content-type': 'application/merge-patch+json' },
    });
  // As upstream, a field that the kind does not have is a fault of the patch, too.
  const unknown = await patched({ 'cannot unmarshal': 1 });
  assert.equal(unknown.status, 422);
  assert.match(
    String(message(unknown)),
    /^ "" is invalid: patch: Invalid value: "\{\\"kind\\":.*\\"cannot unmarshal\\":1\}": strict decoding error: unknown field "cannot unmarshal"$/,
  );
  // The object stays what the patch says; that a finalizer is badly named, its kind says.
  const named = await patched({ metadata: { finalizers: ['cannot unmarshal'] } });
  assert.equal(named.status, 422);
  assert.match(String(message(named)), /^ConfigMap "words" is invalid: \[metadata\.finalizers: /);
});

test('a patch that makes a quantity of what is none is told so as a fault of the patch', async () => {
  const pods = '/api/v1/namespaces/w/pods';
  await server.request('POST', pods, {
    metadata: { name: 'q' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  const answer = await server.request(
    'PATCH',
    `${pods}/q`,
    { spec: { overhead: { cpu: 'much' } } },
    { headers: { 'content-type': 'application/merge-patch+json' } },
  );
  assert.equal(answer.status, 422);
  assert.match(
    String(message(answer)),
    /^ "" is invalid: patch: Invalid value: .*: quantities must match the regular expression /,
  );
});

test('a resize changes amounts and never the quality of service', async () => {
  const pods = '/api/v1/namespaces/w/pods';
  const container = { name: 'c', image: 'i', resources: { requests: { cpu: '1' } } };
  for (const [name, resources] of [
    ['some', container.resources],
    ['none', {}],
  ] as const)
    await server.request('POST', pods, {
      metadata: { name },
      spec: { containers: [{ ...container, resources }] },
    });
  const resize = (name: string): ReturnType<TestServer['request']> =>
    server.request(
      'PATCH',
      `${pods}/${name}/resize`,
      { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] } },
      { headers: { 'content-type': 'application/strategic-merge-patch+json' } },
    );
  assert.equal((await resize('some')).status, 200);
  assert.match(
    String(message(await resize('none'))),
    /Pod QOS Class may not change as a result of resizing$/,
  );
});
