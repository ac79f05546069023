// Every object is written again, whatever becomes of the list that they are read by.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflict, StatusError } from '../../apimachinery/errors.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { DiscoveredResource } from '../../client/discovery.ts';
import { migrateObjects, type Place } from './migrate-objects.ts';

const resource = {
  group: '',
  version: 'v1',
  resource: 'jars',
  kind: 'Jar',
  namespaced: false,
  verbs: [],
  subresources: [],
};
const since = 100;

/** Of a store of `count` old objects, in pages of two. `expires`: at which lists, and what is offered then. */
function store(
  count: number,
  expires: ReadonlyMap<number, string> = new Map(),
  refuses = (_: string) => false,
) {
  const revisions = new Map<string, number>(Array.from({ length: count }, (_, i) => [`o${i}`, i + 1]));
  let lists = 0;
  let now = since;
  const list = async (_: unknown, { continue: token }: { readonly continue?: string }): Promise<object> => {
    const offered = expires.get(++lists);
    if (offered !== undefined) {
      const error = new StatusError(410, 'Expired', 'too old');
      Object.assign(error.status.metadata as object, offered === '' ? {} : { continue: offered });
      throw error;
    }
    const start = Number(token ?? 0);
    const items = [...revisions]
      .slice(start, start + 2)
      .map(([name, revision]) => ({ metadata: { name, resourceVersion: String(revision) } }));
    return { items, metadata: start + 2 < count ? { continue: String(start + 2) } : {} };
  };
  const patch = async (_: unknown, { name }: { readonly name: string }): Promise<void> => {
    if (refuses(name)) throw conflict({ group: '', resource: 'jars' }, name, 'no');
    revisions.set(name, ++now);
  };
  const context = { write: { list, patch }, clock: new FakeClock(0), signal: new AbortController().signal };
  const migrate = (): Promise<Place | undefined> =>
    migrateObjects(context as never, resource as unknown as DiscoveredResource, String(since), () => true);
  const old = (): string[] =>
    [...revisions].filter(([, revision]) => revision <= since).map(([name]) => name);
  return { migrate, old, lists: () => lists };
}

for (const [what, offered] of [
  ['goes on among the newest', '2'],
  ['begins anew', ''],
] as const)
  test(`a list that is too old by its second page ${what}`, async () => {
    const { migrate, old, lists } = store(7, new Map([[2, offered]]));
    await migrate();
    assert.deepEqual(old(), []);
    assert.equal(lists(), offered === '' ? 6 : 5);
  });

test('a first page that is too old is a fault', async () => {
  await assert.rejects(store(3, new Map([[1, '']])).migrate(), { code: 410 });
});

test('what a conflict was said of is looked at again, and is no success while it stays old', async () => {
  let refused = 0;
  const once = store(5, new Map(), (name) => name === 'o3' && refused++ === 0);
  await once.migrate();
  assert.deepEqual(once.old(), []);
  const always = store(5, new Map(), (name) => name === 'o3');
  await assert.rejects(always.migrate(), {
    code: 409,
    message: /objects of v1 jars are refused with conflicts/,
  });
  assert.deepEqual(always.old(), ['o3']);
});

test('a list that never says that it was all has a turn, and then others have theirs', async () => {
  const clock = new FakeClock(0);
  const asked: (string | undefined)[] = [];
  const list = async (_: unknown, { continue: token }: { readonly continue?: string }): Promise<object> => {
    asked.push(token);
    clock.advance(10_000);
    return { items: [], metadata: { continue: String(asked.length) } };
  };
  const context = { write: { list }, clock, signal: new AbortController().signal };
  const turn = (from?: Place): Promise<Place | undefined> =>
    migrateObjects(context as never, resource as unknown as DiscoveredResource, '1', () => true, from);
  const place = await turn();
  assert.deepEqual(place, { pass: 0, next: '13', conflicts: 0 });
  assert.equal(asked.length, 13);
  await turn(place);
  assert.equal(asked[13], '13', 'it goes on where it was');
  assert.equal(asked.length, 26);
});
