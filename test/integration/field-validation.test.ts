// What a strict reader finds in bodies and patches: refused, told in warnings or not looked at, as the request asks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

const maps = '/api/v1/namespaces/v/configmaps';
const types = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
  yaml: 'application/yaml',
};

interface Told {
  readonly status: number;
  readonly message: string;
  readonly warnings: readonly string[];
}

async function send(method: string, path: string, type: string, body: string): Promise<Told> {
  const answer = await server.request(method, path, body, { headers: { 'content-type': type } });
  const warnings = [answer.headers['warning'] ?? []]
    .flat()
    .map((text) => text.replace(/^299 - "(.*)"$/s, '$1').replaceAll('\\"', '"'));
  return { status: answer.status, message: String(answer.json()['message'] ?? ''), warnings };
}

const dataOf = async (name: string): Promise<unknown> =>
  (await server.request('GET', `${maps}/${name}`)).json()['data'];

/** The same patch with each of the three values, told in the order of the text. */
async function patchEachWay(type: string, body: string, problems: readonly string[]): Promise<string> {
  const name = `c${++made}`;
  await server.request('POST', maps, { metadata: { name }, data: { a: '0' } });
  const path = `${maps}/${name}`;
  const strict = await send('PATCH', `${path}?fieldValidation=Strict`, type, body);
  assert.equal(strict.status, 422, strict.message);
  assert.ok(strict.message.endsWith(`: strict decoding error: ${problems.join(', ')}`), strict.message);
  assert.deepEqual(await dataOf(name), { a: '0' });
  const warned = await send('PATCH', path, type, body);
  assert.deepEqual([warned.status, warned.warnings], [200, problems]);
  const ignored = await send('PATCH', `${path}?fieldValidation=Ignore`, type, body);
  assert.deepEqual([ignored.status, ignored.warnings], [200, []]);
  return strict.message;
}
let made = 0;

test('a merge patch is told of keys that come twice and of fields that the kind does not have', async () => {
  const body = '{"odd":1,"data":{"a":"1","a":"2"},"bad":1}';
  const problems = ['duplicate field "data.a"', 'unknown field "bad"', 'unknown field "odd"'];
  const message = await patchEachWay(types.merge, body, problems);
  // The object that the patch would make is shown, and of a strategic merge patch the patch itself.
  assert.match(
    message,
    /^ "" is invalid: patch: Invalid value: "\{\\"kind\\":\\"ConfigMap\\".*\\"uid\\":.*\\"bad\\":1\}": strict/,
  );
  const strategic = await patchEachWay(types.strategic, body, problems);
  assert.ok(strategic.includes('Invalid value: "map[bad:1 data:map[a:2] odd:1]": strict'), strategic);
});

test('a patch that only says something twice is told so, too', async () => {
  const body = '{"data":{"a":"1","a":"2"}}';
  for (const type of [types.merge, types.strategic])
    await patchEachWay(type, body, ['duplicate field "data.a"']);
});

test('a scale is told of it as the object whose it is', async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  assert.equal((await plane.ask('POST', deployments, { metadata: { name: 'web' }, spec })).status, 201);
  const path = `${deployments}/web/scale`;
  const scaled = async (query: string, type: string, body: string): Promise<string> =>
    (await plane.ask('PATCH', `${path}?fieldManager=m${query}`, Buffer.from(body), { contentType: type }))
      .text;
  const merged = '{"spec":{"replicas":2,"replicas":3}}';
  const strict = '&fieldValidation=Strict';
  const force = '&force=true';
  assert.match(await scaled(strict, types.merge, merged), /strict decoding error: duplicate field/);
  const applied = 'kind: Scale\napiVersion: autoscaling/v1\nspec:\n  replicas: 4\n  replicas: 5\n';
  assert.match(
    await scaled(strict + force, types.apply, applied),
    /line 5: key ..replicas.. already set in map/,
  );
  assert.match(await scaled(force, types.apply, applied), /"replicas":5/);
});

test('operations of a JSON patch are told of members that mean nothing or come twice', async () => {
  const operations = `[{"op":"add","path":"/data/b","value":"1","foo":"x"},
    {"op":"add","path":"/data/c","path":"/data/d","value":"1"},{"op":"add","path":"/odd","value":1}]`;
  await patchEachWay(types.json, operations, [
    'json patch unknown field "[0].foo"',
    'json patch duplicate field "[1].path"',
    'unknown field "odd"',
  ]);
});

test('what makes no object of the kind is told in the words of how it was read', async () => {
  await server.request('POST', maps, { metadata: { name: 'types' } });
  const why = async (type: string, body: string): Promise<string> => {
    const { status, message } = await send('PATCH', `${maps}/types`, type, body);
    assert.equal(status, 422);
    return message.slice(message.lastIndexOf('": ') + 3);
  };
  const labels = '{"metadata":{"labels":"invalid"}}';
  assert.equal(
    (await send('PATCH', `${maps}/types`, types.strategic, labels)).message,
    ' "" is invalid: patch: Invalid value: "map[metadata:map[labels:invalid]]": cannot restore map from string',
  );
  assert.match(
    await why(types.merge, labels),
    /^json: cannot unmarshal string into Go struct field ObjectMeta/,
  );
  assert.equal(await why(types.strategic, '{"metadata":1}'), 'cannot restore struct from: int64');
  assert.equal(
    await why(types.strategic, '{"metadata":{"finalizers":true}}'),
    'cannot restore slice from bool',
  );
  assert.equal(await why(types.strategic, '{"immutable":"yes"}'), 'unrecognized type: bool');
});

test('a body of JSON is told of in the order of its text, what is unknown once', async () => {
  const body =
    '{"metadata":{"name":"x","name":"order","odd":1},"foo":{"a":1,"a":2},"foo":1,"data":{"a":"1","a":"2"},"bar":1}';
  const problems = [
    'duplicate field "metadata.name"',
    'unknown field "metadata.odd"',
    'unknown field "foo"',
    'duplicate field "data.a"',
    'unknown field "bar"',
  ];
  const strict = await send('POST', `${maps}?fieldValidation=Strict`, 'application/json', body);
  assert.ok(strict.message.endsWith(`strict decoding error: ${problems.join(', ')}`), strict.message);
  assert.deepEqual((await send('POST', maps, 'application/json', body)).warnings, problems);
});

const twice = `apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
data:
  a: "1"
  b: "2"
  a: "3"
  b:
    "4"
`;
const lines = ['line 8: key "a" already set in map', 'line 10: key "b" already set in map'];

test('a body of YAML whose keys come twice is read as its last ones say, and told of by line', async () => {
  const strict = await send(
    'POST',
    `${maps}?fieldValidation=Strict`,
    types.yaml,
    `${twice.replace('NAME', 'y')}odd: 1\n`,
  );
  assert.equal(strict.status, 400);
  assert.ok(
    strict.message.endsWith(
      `strict decoding error: yaml: unmarshal errors:\n  ${lines.join('\n  ')}, unknown field "odd"`,
    ),
    strict.message,
  );
  const warned = await send('POST', maps, types.yaml, twice.replace('NAME', 'y'));
  assert.deepEqual([warned.status, warned.warnings], [201, lines]);
  assert.deepEqual(await dataOf('y'), { a: '3', b: '4' });
  const ignored = await send(
    'POST',
    `${maps}?fieldValidation=Ignore`,
    types.yaml,
    twice.replace('NAME', 'z'),
  );
  assert.deepEqual([ignored.status, ignored.warnings], [201, []]);
});

test('an apply whose keys come twice is refused when strict, with the lines, and warned of otherwise', async () => {
  const path = `${maps}/applied?fieldManager=me`;
  const json = '{\n  "apiVersion":"v1","kind":"ConfigMap",\n  "data":{"a":"1",\n  "a":"2"}}';
  for (const [body, told] of [
    [twice.replace('NAME', 'applied'), lines],
    [json, ['line 4: key "a" already set in map']],
  ] as const) {
    const strict = await send('PATCH', `${path}&fieldValidation=Strict`, types.apply, body);
    assert.deepEqual(
      [strict.status, strict.message],
      [
        400,
        `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${told.join('\n  ')}`,
      ],
    );
    const warned = await send('PATCH', path, types.apply, body);
    assert.deepEqual(warned.warnings, told);
    const ignored = await send('PATCH', `${path}&fieldValidation=Ignore`, types.apply, body);
    assert.deepEqual([ignored.status, ignored.warnings], [200, []]);
  }
  assert.deepEqual(await dataOf('applied'), { a: '2' });
});

test('a text that hides much behind one long key is told of in no time', async () => {
  const pairs = Array.from({ length: 4_000 }, (_, i) => `"k${i}":1,"k${i}":2`).join();
  const started = process.cpuUsage();
  const body = `{"metadata":{"name":"long"},"odd":1,"${'o'.repeat(500_000)}":{${pairs}}}`;
  const { status } = await send('POST', `${maps}?fieldValidation=Strict`, 'application/json', body);
  assert.equal(status, 400);
  const { user } = process.cpuUsage(started);
  assert.ok(user < 5_000_000, `${user} µs`);
});
