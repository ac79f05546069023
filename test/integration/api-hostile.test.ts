// What a hostile client sends gets the right refusal, over HTTP/1.1 and HTTP/2, and the server lives on.
import assert from 'node:assert/strict';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { testServing } from '../../src/apiserver/testing/test-serving.ts';

let plain: TestServer;
let secure: TestServer;
before(async () => {
  plain = await startTestServer({ listen: 'plain' });
  secure = await startTestServer({ listen: await testServing() });
});
after(async () => {
  await plain.close();
  await secure.close();
});

/** Sends raw bytes and answers everything that comes back. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(plain.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
    socket.write(bytes);
  });
}
const alive = async (): Promise<void> =>
  assert.equal(await (await fetch(`http://127.0.0.1:${plain.port}/livez`)).text(), 'ok');

test('malformed HTTP is answered with 4xx', async () => {
  const cases = [
    'GARBAGE\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET /\u0000 HTTP/1.1\r\nHost: x\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ];
  for (const bytes of cases)
    assert.match(await raw(bytes), /^HTTP\/1.1 4\d\d /, JSON.stringify(bytes.slice(0, 60)));
  await alive();
});

test('paths that climb, hide slashes or hold NUL name nothing', async () => {
  const base = '/api/v1/namespaces/default/configmaps';
  for (const [path, status, text] of [
    [`${base}/..`, 400, `Name parameter invalid: "..": may not be '..'`],
    [`${base}/%2e%2e`, 400, `Name parameter invalid: "..": may not be '..'`],
    [`${base}/a%2fb`, 400, `Name parameter invalid: "a/b": may not contain '/'`],
    [`${base}/a%00b`, 400, /may not contain control characters$/],
    ['/api/v1/namespaces/..%2f..%2fkube-system/secrets', 400, /may not contain '\/'$/],
    [`${base}/%zz`, 400, /may not contain '%'$/],
    [`${base}/%252e%252e`, 400, /may not contain '%'$/],
    [`${base}//x`, 400, /./],
    ['/api/v1/namespaces/default/__proto__/x', 404, /could not find the requested resource/],
    ['/api/v1/constructor', 404, /could not find the requested resource/],
  ] as const) {
    const answer = await plain.request('GET', path);
    assert.equal(answer.status, status, `${path} ${answer.text}`);
    const message = String(answer.json()['message']);
    if (typeof text === 'string') assert.equal(message, text);
    else assert.match(message, text);
  }
});

test('keys like __proto__ are data and pollute nothing', async () => {
  const body =
    '{"metadata":{"name":"p","__proto__":{"x":1}},"data":{"__proto__":"v","constructor":"w"},"__proto__":{"y":1}}';
  const made = await plain.request('POST', '/api/v1/namespaces/default/configmaps', body);
  assert.equal(made.status, 201, made.text);
  assert.match(made.text, /"data":\{"__proto__":"v","constructor":"w"\}/);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
  assert.equal(({} as Record<string, unknown>)['y'], undefined);
  const merged = await plain.request(
    'PATCH',
    '/api/v1/namespaces/default/configmaps/p',
    '{"data":{"__proto__":"z"},"__proto__":{"polluted":1}}',
    { headers: { 'content-type': 'application/merge-patch+json' } },
  );
  assert.equal(merged.status, 200, merged.text);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('a body past 3 MiB is 413, a deep one 400, a long list of patches 413', async () => {
  const url = `http://127.0.0.1:${plain.port}/api/v1/namespaces/default/configmaps`;
  const post = (body: string, path = url, type = 'application/json', method = 'POST') =>
    fetch(path, { method, body, headers: { 'content-type': type } });
  const large = await post('x'.repeat(3 * 1024 * 1024 + 1));
  assert.equal(large.status, 413);
  assert.equal(
    ((await large.json()) as { message: string }).message,
    'Request entity too large: limit is 3145728',
  );
  assert.equal((await post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).status, 400);
  assert.equal((await post(`{"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`)).status, 400);
  await plain.request('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'many' } });
  const operations = JSON.stringify(
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'x' })),
  );
  const many = await post(operations, `${url}/many`, 'application/json-patch+json', 'PATCH');
  assert.equal(many.status, 413);
  const bomb =
    'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n';
  assert.equal((await post(bomb, url, 'application/yaml')).status, 400);
  await alive();
});

test('HTTP/2 streams that are reset at once and bodies that never come leave the server well', async () => {
  const session = connectHttp2(`https://127.0.0.1:${secure.port}`, { rejectUnauthorized: false });
  session.on('error', () => {});
  for (let i = 0; i < 200; i++) {
    const stream = session.request({ ':method': 'GET', ':path': '/api/v1/pods?watch=true' });
    stream.on('error', () => {});
    stream.close(constants.NGHTTP2_CANCEL);
  }
  const body = session.request({ ':method': 'POST', ':path': '/api/v1/namespaces/default/configmaps' });
  body.on('error', () => {});
  body.write('{"metadata":');
  const answer = await new Promise<string>((resolve, reject) => {
    const stream = session.request({ ':path': '/livez' });
    let text = '';
    stream.on('data', (chunk) => {
      text += String(chunk);
    });
    stream.on('end', () => resolve(text));
    stream.on('error', reject);
  });
  assert.equal(answer, 'ok');
  session.destroy();
});

test('401 and 403 are upstream’s, to the byte', async () => {
  const server = await startTestServer({ allowAnonymous: false });
  const anonymous = await server.request('GET', '/api', undefined, { user: undefined });
  assert.equal(anonymous.status, 401);
  assert.equal(
    anonymous.text,
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}\n',
  );
  const bob = { user: { name: 'bob', groups: [] } };
  const forbidden = await server.request(
    'GET',
    '/apis/apps/v1/namespaces/x/deployments/d/scale',
    undefined,
    bob,
  );
  assert.equal(
    forbidden.text,
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \\"d\\" is forbidden: User \\"bob\\" cannot get resource \\"deployments/scale\\" in API group \\"apps\\" in the namespace \\"x\\"","reason":"Forbidden","details":{"name":"d","group":"apps","kind":"deployments"},"code":403}\n',
  );
  await server.close();
});
