// Lists of a moment: at exactly a revision, not older than one, and page by page although the past is forgotten, as kube-apiserver's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}
async function list(url: string, from: TestServer = server): Promise<List> {
  const answer = await from.request('GET', url);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as unknown as List;
}
const namesOf = ({ items }: List): string => items.map(({ metadata }) => metadata.name).join(' ');
const create = async (namespace: string, ...names: string[]): Promise<void> => {
  for (const name of names)
    assert.equal((await server.request('POST', maps(namespace), { metadata: { name } })).status, 201);
};

test('Exact shows what there was, in pages too; NotOlderThan what there is', async () => {
  await create('exact', 'a', 'b', 'c');
  const { resourceVersion } = (await list(maps('exact'))).metadata;
  await server.request('DELETE', `${maps('exact')}/b`);
  await create('exact', 'd');
  const at = `resourceVersion=${resourceVersion}&resourceVersionMatch=`;
  const then = await list(`${maps('exact')}?${at}Exact`);
  assert.equal(namesOf(then), 'a b c');
  assert.equal(then.metadata.resourceVersion, resourceVersion);
  const first = await list(`${maps('exact')}?${at}Exact&limit=2`);
  assert.equal(namesOf(first), 'a b');
  const second = await list(`${maps('exact')}?limit=2&continue=${first.metadata.continue}`);
  assert.equal(namesOf(second), 'c');
  assert.equal(second.metadata.resourceVersion, resourceVersion);
  for (const query of [`${at}NotOlderThan`, `resourceVersion=${resourceVersion}`, 'resourceVersion=0', ''])
    assert.equal(namesOf(await list(`${maps('exact')}?${query}`)), 'a c d', query);
});

test('what is forgotten is Expired; a token of a page goes on at the newest state when one asks for that', async () => {
  await create('old', 'a', 'b');
  const first = await list(`${maps('old')}?limit=1`);
  const { resourceVersion } = first.metadata;
  await server.request('DELETE', `${maps('old')}/b`);
  await create('old', 'c', 'd');
  await server.storage.compact(await server.storage.revision());
  const fresh = await startTestServer({ storage: server.storage });
  const exact = await fresh.request(
    'GET',
    `${maps('old')}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
  );
  assert.equal(exact.status, 410, exact.text);
  assert.deepEqual(
    [exact.json()['reason'], exact.json()['message']],
    ['Expired', 'The resourceVersion for the provided list is too old.'],
  );
  const gone = await fresh.request('GET', `${maps('old')}?limit=1&continue=${first.metadata.continue}`);
  assert.equal(gone.status, 410, gone.text);
  assert.equal(gone.json()['reason'], 'Expired');
  assert.match(String(gone.json()['message']), /^The provided continue parameter is too old /);
  const token = (gone.json()['metadata'] as { continue: string }).continue;
  const rest = await list(`${maps('old')}?continue=${token}`, fresh);
  assert.equal(namesOf(rest), 'c d', 'after a, as it is now');
  assert.ok(Number(rest.metadata.resourceVersion) > Number(resourceVersion));
});
