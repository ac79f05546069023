// Bodies that are lawful JSON and mean harm: too much of something, keys of JavaScript, selectors and tokens made up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  startTestServer,
  type TestAnswer,
  type TestServer,
} from '../../src/apiserver/testing/test-server.ts';

let server: TestServer;
const configmaps = '/api/v1/namespaces/default/configmaps';
before(async () => {
  server = await startTestServer();
  await server.request('POST', configmaps, { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } });
});
after(() => server.close());

const send = (method: string, url: string, body: string, type = 'application/json'): Promise<TestAnswer> =>
  server.request(method, url, body, { headers: { 'content-type': type } });
const many = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(',');

test('tens of thousands of faults are one refusal, not a crash', async () => {
  const labels = await send(
    'POST',
    configmaps,
    `{"metadata":{"name":"b","labels":{${many(10_000, (i) => `"-${i}":"!"`)}}}}`,
  );
  assert.equal(labels.status, 422);
  assert.ok(labels.text.length < 2_000_000, String(labels.text.length));
  const containers = await send(
    'POST',
    '/api/v1/namespaces/default/pods',
    `{"metadata":{"name":"p"},"spec":{"containers":[${many(49_000, () => '{}')}]}}`,
  );
  assert.equal(containers.status, 422);
  assert.ok(containers.text.length < 2_000_000, String(containers.text.length));
});

test('an object that its defaults make huge is too large', async () => {
  const pod = await send(
    'POST',
    '/api/v1/namespaces/default/pods',
    `{"metadata":{"name":"p"},"spec":{"containers":[${many(15_000, (i) => `{"name":"c${i}","image":"${'x'.repeat(130)}"}`)}]}}`,
  );
  assert.equal(pod.status, 413, pod.text.slice(0, 200));
  assert.match(pod.text, /limit is 4194304/);
});

test('numbers that JSON has and the API has not are refused', async () => {
  for (const number of ['1e400', '-1e400', '9223372036854775808', '1e17', '1.5', '99999999999999999999999'])
    assert.equal(
      (await send('POST', configmaps, `{"metadata":{"name":"n","generation":${number}}}`)).status,
      400,
      number,
    );
});

test('names that every object of JavaScript has are no labels, keys or fields that are there', async () => {
  const found = async (query: string): Promise<number> =>
    ((await server.request('GET', `${configmaps}?${query}`)).json()['items'] as unknown[]).length;
  for (const name of ['toString', 'constructor', 'hasOwnProperty', 'valueOf']) {
    assert.equal(await found(`labelSelector=${name}`), 0, name);
    assert.equal(await found(`labelSelector=!${name}`), 1, name);
    const patch = JSON.stringify([{ op: 'remove', path: `/data/${name}` }]);
    assert.equal((await send('PATCH', `${configmaps}/a`, patch, 'application/json-patch+json')).status, 422);
    assert.equal((await server.request('GET', `${configmaps}?fieldSelector=${name}%3Dx`)).status, 400);
  }
});

test('no patch reaches a prototype', async () => {
  const evil =
    '{"metadata":{"annotations":{"constructor":"d"}},"data":{"__proto__":"q","toString":"r"},"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  for (const [type, body] of [
    ['application/merge-patch+json', evil],
    ['application/strategic-merge-patch+json', evil],
    ['application/json-patch+json', '[{"op":"add","path":"/__proto__/polluted","value":1}]'],
    ['application/json-patch+json', '[{"op":"add","path":"/constructor/prototype/polluted","value":1}]'],
    ['application/json-patch+json', '[{"op":"copy","from":"/metadata","path":"/__proto__"}]'],
    ['application/json-patch+json', '[{"op":"add","path":"/data","value":{"__proto__":"z"}}]'],
    ['application/apply-patch+yaml', evil.replace('{', '{"apiVersion":"v1","kind":"ConfigMap",')],
    ['application/apply-patch+yaml', 'apiVersion: v1\nkind: ConfigMap\ndata:\n  __proto__: s\n'],
  ] as const) {
    const answer = await send(
      'PATCH',
      `${configmaps}/a?fieldManager=f&force=${type.includes('apply')}`,
      body,
      type,
    );
    assert.ok([200, 422, 500].includes(answer.status), `${type} ${answer.text}`);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined, body);
    assert.deepEqual(Object.keys(Object.prototype), [], body);
  }
});

test('patches that multiply are refused or small', async () => {
  const copies = many(
    60,
    (i) => `{"op":"copy","from":"/metadata/annotations","path":"/metadata/annotations/c${i}"}`,
  );
  const doubled = await send(
    'PATCH',
    `${configmaps}/a`,
    `[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}},${copies}]`,
    'application/json-patch+json',
  );
  assert.ok([413, 422].includes(doubled.status), doubled.text);
  const bomb = await send(
    'PATCH',
    `${configmaps}/a?fieldManager=f`,
    `a: [${'x,'.repeat(1_000_000)}]`,
    'application/apply-patch+yaml',
  );
  assert.equal(bomb.status, 400);
  assert.equal(
    (
      await send(
        'PATCH',
        `${configmaps}/a`,
        `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
        'application/strategic-merge-patch+json',
      )
    ).status,
    400,
  );
});

test('continue tokens that nobody gave out lead nowhere else', async () => {
  await server.request('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'prize' } });
  const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (const bad of [
    'x',
    'e30',
    token([]),
    token({ v: 'meta.k8s.io/v1', rv: 0, start: 'a' }),
    token({ v: 'v2', rv: 1, start: 'a' }),
    token({ v: 'meta.k8s.io/v1', rv: -1, start: '../../secrets/default/' }),
    // Go's path.Clean takes the last stroke away, so it is none that upstream gave out.
    token({ v: 'meta.k8s.io/v1', rv: -1, start: 'default/' }),
  ])
    assert.equal((await server.request('GET', `${configmaps}?limit=1&continue=${bad}`)).status, 400, bad);
  for (const start of ['\u0000', '/', 'default/a', 'zzz', '!', 'kube-system/\u0000']) {
    const answer = await server.request(
      'GET',
      `${configmaps}?limit=5&continue=${token({ v: 'meta.k8s.io/v1', rv: -1, start })}`,
    );
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.text, /prize/);
  }
});
