// What is told of other servers when APIServices come, go and are changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { RemoteDocuments } from './remote-documents.ts';
import type { AskRemote, RemoteAnswer } from './remote-questions.ts';
import type { RemoteService } from './remote-service.ts';

const groups = ['e.com', 'f.com'];
const remote = (group: string, more: object = {}): RemoteService => ({
  name: `v1.${group}`,
  group,
  version: 'v1',
  service: { namespace: 'n', name: 's', port: 443 },
  caBundle: 'old',
  insecure: false,
  groupPriority: 1,
  versionPriority: 1,
  available: true,
  ...more,
});
const both = groups.map((group) => remote(group));

const answer = (document: object, etag = ''): RemoteAnswer => ({
  status: 200,
  contentType: 'application/json',
  etag,
  body: Buffer.from(JSON.stringify(document)),
  url: '',
});
const unchanged = (etag: string): RemoteAnswer => ({ ...answer({}, etag), status: 304 });
const documents: Record<string, RemoteAnswer> = {
  '/openapi/v2': answer(
    { paths: Object.fromEntries(groups.map((group) => [`/apis/${group}/v1/`, { get: {} }])) },
    '"e"',
  ),
  '/openapi/v3': answer({
    paths: Object.fromEntries(
      groups.map((group) => [
        `apis/${group}/v1`,
        { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=1` },
      ]),
    ),
  }),
};

/** One server, that says of its groups what it always says. `hold`: what an answer waits for. */
function watched() {
  const clock = new FakeClock(0);
  const asked: string[] = [];
  const control = { isAway: false, hasNoV3: false, hold: async (_: string): Promise<void> => {} };
  const ask: AskRemote = async (_, { path, etag }) => {
    asked.push(path);
    await control.hold(path);
    if (control.isAway) throw new Error('connection refused');
    if (control.hasNoV3 && path === '/openapi/v3') return { ...answer({}), status: 404 };
    const found = documents[path];
    if (found !== undefined) return found.etag !== '' && found.etag === etag ? unchanged(etag) : found;
    const resources = [{ name: 'things', kind: 'Thing', namespaced: true, verbs: ['get'] }];
    return path === '/apis' ? { ...answer({}), status: 404 } : answer({ kind: 'APIResourceList', resources });
  };
  const served = new RemoteDocuments({ ask, clock, log: silentLogger, changed() {} });
  const set = async (remotes: readonly RemoteService[], changed: readonly RemoteService[]): Promise<void> => {
    served.set(remotes, new Set(changed.map(({ name }) => name)));
    await settled();
  };
  const told = () => ({
    v2: served.openApiV2().flatMap(({ paths }) => [...paths.keys()]),
    v3: [...served.openApiV3().keys()],
    discovery: served.versions().map(({ group, resources }) => `${group}: ${resources.length}`),
  });
  return { clock, asked, control, served, set, told };
}

/** Long documents are read in turns of the thread. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 40; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const ofBoth = {
  v2: ['/apis/e.com/v1/', '/apis/f.com/v1/'],
  v3: ['apis/e.com/v1', 'apis/f.com/v1'],
  discovery: ['e.com: 1', 'f.com: 1'],
};
const ofFirst = { v2: ['/apis/e.com/v1/'], v3: ['apis/e.com/v1'], discovery: ['e.com: 1'] };

test('what is said of a group goes with its APIService, though its server serves another', async () => {
  const { clock, control, set, told } = watched();
  await set(both, both);
  assert.deepEqual(told(), ofBoth);
  // Nobody needs to answer for it.
  control.isAway = true;
  await set([both[0]!], []);
  assert.deepEqual(told(), ofFirst);
  control.isAway = false;
  clock.advance(500);
  await settled();
  assert.deepEqual(told(), ofFirst);
  await set(both, [both[1]!]);
  assert.deepEqual(told(), ofBoth);
});

test('what is said of a group goes with its APIService while it is being read', async () => {
  const { clock, control, set, told } = watched();
  const released = Promise.withResolvers<void>();
  control.hold = async (path) => {
    if (path === '/openapi/v2') await released.promise;
  };
  await set(both, both);
  await set([both[0]!], []);
  released.resolve();
  await settled();
  assert.deepEqual(told(), ofFirst);
  clock.advance(60_000);
  await settled();
  assert.deepEqual(told(), ofFirst);
});

test('new credentials do not empty a group; what is known is of this server and of no other', async () => {
  const { asked, control, set, told } = watched();
  await set(both, both);
  control.isAway = true;
  const renewed = remote('e.com', { caBundle: 'new' });
  await set([renewed, both[1]!], [renewed]);
  const sorted = ({ v2, v3, discovery }: ReturnType<typeof told>) =>
    [v2, v3, discovery].map((list) => list.toSorted());
  assert.deepEqual(sorted(told()), sorted(ofBoth));
  const count = asked.length;
  assert.equal(asked[count - 1], '/apis', 'and it is asked at once');
  const elsewhere = remote('e.com', { service: { namespace: 'n', name: 's', port: 8443 } });
  await set([elsewhere], [elsewhere]);
  assert.deepEqual(told(), { v2: [], v3: [], discovery: ['e.com: 0'] });
});

test('a group that is added to a server is not told of from what another said there', async () => {
  const { control, set, told } = watched();
  await set([both[0]!], [both[0]!]);
  control.isAway = true;
  const added = remote('f.com', { insecure: true, caBundle: '' });
  await set([both[0]!, added], [added]);
  assert.deepEqual(told(), { ...ofFirst, discovery: ['e.com: 1', 'f.com: 0'] });
});

test('what a server says in OpenAPI v2 only is told in v3, by another name when it changes', async () => {
  const { clock, control, served, set, told } = watched();
  control.hasNoV3 = true;
  await set(both, both);
  assert.deepEqual(told(), ofBoth);
  const place = 'apis/e.com/v1';
  const named = served.openApiV3().get(place);
  assert.match(String(named), /^[0-9A-F]{64}$/);
  assert.notEqual(named, served.openApiV3().get('apis/f.com/v1'));
  const { bytes, hash } = await served.convertedV3(place)!();
  assert.equal(hash, named);
  const others = await Promise.all([served.convertedV3(place)!(), served.convertedV3(place)!()]);
  assert.ok(others.every((one) => one.bytes === bytes));
  assert.deepEqual(JSON.parse(bytes.toString()), {
    openapi: '3.0.0',
    info: { title: '', version: '' },
    paths: { '/apis/e.com/v1/': { get: { responses: {} } } },
    components: { schemas: {} },
  });
  assert.equal(served.convertedV3('apis/other/v1'), undefined);
  // One group goes, the other stays; then its server learns v3 and tells it itself.
  await set([both[0]!], []);
  assert.deepEqual(told(), ofFirst);
  control.hasNoV3 = false;
  clock.advance(60_000);
  await settled();
  assert.deepEqual(told(), ofFirst);
  assert.equal(served.openApiV3().get(place), '1');
  assert.equal(served.convertedV3(place), undefined);
});
