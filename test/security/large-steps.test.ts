// The largest objects that are taken: between the pieces of each request for one, the loop has turns for everybody else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const keys = (name: string, value: string) =>
  Object.fromEntries(Array.from({ length: 9_900 }, (_, i) => [`${name}${i}`, value]));
const most = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: keys('k', 'v'), annotations: keys('k', 'v') },
  data: keys('k', 'v'),
  binaryData: keys('b', 'AAAA'),
});

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

/** Rounds of the event loop while `work` lasts, and its result. */
async function roundsOf<T>(work: () => Promise<T>): Promise<{ readonly rounds: number; readonly result: T }> {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  isOver = true;
  return { rounds, result };
}

const json = { 'content-type': 'application/json' };
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
const operations = { 'content-type': 'application/json-patch+json' };
const replaced = Array.from({ length: 9_900 }, (_, i) => ({
  op: 'replace',
  path: `/data/k${i}`,
  value: 'w',
}));

/** As many pieces as each had at least when this was written, less a few. */
const requests = [
  { what: 'create', method: 'POST', path: maps, body: most('most'), headers: json, status: 201, least: 28 },
  {
    what: 'PUT',
    method: 'PUT',
    path: `${maps}/most`,
    body: most('most'),
    headers: json,
    status: 200,
    least: 46,
  },
  {
    what: 'merge patch',
    method: 'PATCH',
    path: `${maps}/most`,
    body: { metadata: { labels: { k0: 'w' } } },
    headers: merge,
    status: 200,
    least: 36,
  },
  {
    what: 'JSON patch',
    method: 'PATCH',
    path: `${maps}/most`,
    body: replaced,
    headers: operations,
    status: 200,
    least: 78,
  },
  {
    what: 'apply',
    method: 'PATCH',
    path: `${maps}/applied?fieldManager=a`,
    body: most('applied'),
    headers: apply,
    status: 201,
    least: 36,
  },
  {
    what: 'DELETE',
    method: 'DELETE',
    path: `${maps}/most`,
    body: undefined,
    headers: json,
    status: 200,
    least: 15,
  },
] as const;

for (const { what, method, path, body, headers, status, least } of requests)
  test(`${what} of the most values that an object may have leaves turns to others`, async () => {
    const { rounds, result } = await roundsOf(() => server.request(method, path, body, { headers }));
    assert.equal(result.status, status, result.text.slice(0, 500));
    assert.ok(rounds >= least, `${rounds} rounds`);
  });
