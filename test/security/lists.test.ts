// Lists in every media type are made while they are read, and others are served between two pieces.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { createScheme } from '../../src/api/scheme.ts';
import { decodeProtobuf } from '../../src/apimachinery/serializer/protobuf/envelope.ts';
import { isPullBody, type PullBody } from '../../src/apiserver/http.ts';
import { admin, startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { wholeBody } from '../../src/apiserver/testing/whole-body.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';

const path = '/api/v1/namespaces/default/configmaps';
const count = 200;
const table = 'as=Table;v=v1;g=meta.k8s.io';
const partial = 'as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

interface Kind {
  readonly accept: string;
  readonly agent?: string;
  readonly key: 'items' | 'rows';
  readonly kind: string;
  read(body: Buffer): unknown;
}
const json = (body: Buffer): unknown => JSON.parse(body.toString());
/** Not with our own reader: it bounds what strangers send, and this is a server's long answer. */
const yaml = (body: Buffer): unknown => parse(body.toString(), { maxAliasCount: 0 });
const kinds: readonly Kind[] = [
  { accept: 'application/yaml', key: 'items', kind: 'ConfigMapList', read: yaml },
  { accept: 'application/json', agent: 'curl/8', key: 'items', kind: 'ConfigMapList', read: json },
  {
    accept: 'application/vnd.kubernetes.protobuf',
    key: 'items',
    kind: 'ConfigMapList',
    read: (body) => decodeProtobuf(createScheme(), body),
  },
  { accept: `application/json;${table}`, key: 'rows', kind: 'Table', read: json },
  { accept: `application/yaml;${table}`, key: 'rows', kind: 'Table', read: yaml },
  { accept: `application/json;${partial}`, key: 'items', kind: 'PartialObjectMetadataList', read: json },
  { accept: `application/yaml;${partial}`, key: 'items', kind: 'PartialObjectMetadataList', read: yaml },
];

describe('a list does not stall others', () => {
  let server: TestServer;
  const list = async ({ accept, agent = 'test/1' }: Kind, query = ''): Promise<PullBody | Buffer> => {
    const headers = { accept, 'user-agent': agent };
    const { status, body } = await server.handle('GET', `${path}${query}`, undefined, { headers });
    assert.equal(status, 200);
    assert.ok(Buffer.isBuffer(body) || (body !== undefined && isPullBody(body)), 'it is not held as a whole');
    return body as PullBody | Buffer;
  };
  const named = (value: unknown, key: string): unknown[] => (value as Record<string, unknown[]>)[key]!;

  before(async () => {
    // Ages are columns of tables: time stands still.
    const now = Date.now();
    server = await startTestServer({ clock: { ...systemClock, now: () => now } });
    for (let i = 0; i < count; i++) {
      const data = { long: `${'x y '.repeat(24)}\n`.repeat(200), number: String(i) };
      const object = { metadata: { name: `c${String(i).padStart(3, '0')}` }, data };
      assert.equal((await server.request('POST', path, object)).status, 201);
    }
  });
  after(() => server.close());

  for (const kind of kinds)
    it(`${kind.accept}${kind.agent === undefined ? '' : ', indented'}: the whole list, in pieces`, async () => {
      const whole = kind.read(await wholeBody(await list(kind)));
      assert.equal((whole as { kind: string }).kind, kind.kind);
      const all = named(whole, kind.key);
      assert.equal(all.length, count);
      // Two objects are converted at once: both ways must write the same.
      const few = named(kind.read(await wholeBody(await list(kind, '?limit=2'))), kind.key);
      assert.deepEqual(all.slice(0, 2), few);
    });

  for (const kind of kinds.filter(({ key, kind: name }) => key === 'items' && name === 'ConfigMapList'))
    it(`${kind.accept}${kind.agent === undefined ? '' : ', indented'}: six at once, and another user is served between the pieces`, async () => {
      let under = 6;
      let largest = 0;
      const readers = Array.from({ length: under }, async () => {
        const body = await list(kind);
        assert.ok(!Buffer.isBuffer(body));
        for (let part = body.pull(65_536); part !== null; part = body.pull(65_536)) {
          if (part === undefined) await new Promise<void>((resolve) => body.onReady(resolve));
          else largest = Math.max(largest, part.length);
        }
        under--;
      });
      let served = 0;
      const other = { name: 'other', groups: admin.groups };
      while (under > 0) {
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal((await server.request('GET', `${path}/c000`, undefined, { user: other })).status, 200);
        served++;
      }
      await Promise.all(readers);
      assert.ok(served > 6 * 20, `${served} requests were served meanwhile`);
      assert.ok(largest < 256 * 1024, `${largest} bytes at once`);
    });

  it('one large object in another media type: others are served between the steps', async () => {
    const data = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`key-${i}`, `value ${i}`]));
    assert.equal(
      (await server.request('POST', `/api/v1/namespaces/large/configmaps`, { metadata: { name: 'a' }, data }))
        .status,
      201,
    );
    for (const accept of [
      'application/yaml',
      `application/json;${table}`,
      'application/vnd.kubernetes.protobuf',
    ]) {
      let served = 0;
      let done = false;
      const large = server
        .request('GET', '/api/v1/namespaces/large/configmaps/a', undefined, { headers: { accept } })
        .then((answer) => {
          done = true;
          return answer;
        });
      while (!done) {
        await new Promise((resolve) => setImmediate(resolve));
        if (!done && (await server.request('GET', `${path}/c000`)).status === 200) served++;
      }
      assert.equal((await large).status, 200);
      assert.ok(served >= 1, `${served} at ${accept}`);
    }
  });

  it('a client that goes away ends the conversion', async () => {
    const body = (await list(kinds[0]!)) as PullBody;
    await new Promise<void>((resolve) => body.onReady(resolve));
    body.close();
    assert.equal(body.pull(65_536), null);
    await new Promise<void>((resolve) => body.onReady(resolve));
    assert.equal(body.pull(65_536), null);
  });
});
