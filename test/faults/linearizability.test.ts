// What many clients saw of a server that was killed again and again is what one machine could have done, one thing at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { ConfigMap } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { Client } from '../../src/client/client.ts';
import { seeded } from '../../src/storage/testing/store-model.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { type ServerChild, startServerChild } from '../harness/server-child.ts';
import { type Answer, type Operation, type Recorded, unexplained } from './checkers/linearizable.ts';

const rounds = Number(process.env.PORTHOLE_LINEARIZABILITY_ROUNDS ?? 6);
const clients = 12;
const names = Array.from({ length: 10 }, (_, i) => `k${i}`);
const namespace = 'default';

interface Listed {
  readonly revision: number;
  readonly invoked: number;
  readonly objects: ReadonlyMap<string, string>;
}
interface Change {
  readonly revision: number;
  readonly name: string;
  /** null: deleted. */
  readonly value: string | null;
}

const histories = new Map<string, Recorded[]>(names.map((name) => [name, []]));
const lists: Listed[] = [];
/** Every change that the watch told, over all kills. */
const changes: Change[] = [];
/** Revision and moment of each write that was acknowledged with its revision. */
const acknowledged: { readonly revision: number; readonly value: string; readonly returned: number }[] = [];
let values = 0;
let done = 0;
/** Called with each operation that is done. */
let onDone = (): void => {};

const textOf = (object: ConfigMap): string => object.data!.v!;
const revisionOf = (object: ConfigMap): number => Number(object.metadata!.resourceVersion);
const record = (name: string, operation: Operation, invoked: number): void => {
  histories.get(name)!.push({ operation, invoked, returned: performance.now() });
  done++;
  onDone();
};

/** Refused by the API, or nobody knows. */
function answerOf(error: unknown): Answer {
  if (isStatusError(error) && [404, 409].includes(error.code)) return 'refused';
  // 5xx of a server that ends is no answer about the write.
  if (isStatusError(error) && error.code < 500) throw error;
  return 'unknown';
}

async function write(
  name: string,
  operation: Operation,
  send: () => Promise<ConfigMap | undefined>,
): Promise<ConfigMap | undefined> {
  const invoked = performance.now();
  let answer: Answer = 'ok';
  let made: ConfigMap | undefined;
  try {
    made = await send();
    if (made !== undefined)
      acknowledged.push({ revision: revisionOf(made), value: textOf(made), returned: performance.now() });
  } catch (error) {
    answer = answerOf(error);
  }
  record(name, { ...operation, answer } as Operation, invoked);
  return made;
}

async function read(client: Client, name: string): Promise<ConfigMap | null | undefined> {
  const invoked = performance.now();
  try {
    const found = await client.get(configmaps, { name, namespace });
    record(name, { what: 'get', found: textOf(found) }, invoked);
    return found;
  } catch (error) {
    // A read that nobody answered says nothing.
    if (answerOf(error) !== 'refused') return undefined;
    record(name, { what: 'get', found: null }, invoked);
    return null;
  }
}

/** One client, until the server is gone. */
async function work(client: Client, random: (below: number) => number, gone: () => boolean): Promise<void> {
  /** What it knows of each: null that there is none. Nothing after a refusal. */
  const seen = new Map<string, ConfigMap | null | undefined>();
  while (!gone()) {
    const name = names[random(names.length)]!;
    const known = seen.get(name);
    const what = random(20);
    const metadata = { name, namespace };
    const data = { v: `v${values++}` };
    if (what === 0) await list(client);
    else if (what < 6 || known === undefined) seen.set(name, await read(client, name));
    else if (known === null) {
      const send = (): Promise<ConfigMap> => client.create(configmaps, { metadata, data });
      seen.set(name, await write(name, { what: 'create', value: data.v, answer: 'ok' }, send));
    } else if (what < 18) {
      const operation = { what: 'put', value: data.v, expected: textOf(known), answer: 'ok' } as const;
      seen.set(name, await write(name, operation, () => client.update(configmaps, { ...known, data })));
    } else {
      seen.delete(name);
      await remove(client, name, random(2) === 0 ? undefined : known);
    }
  }
}

/** `known`: only that state of it. */
async function remove(client: Client, name: string, known: ConfigMap | undefined): Promise<void> {
  const options = known && { preconditions: { resourceVersion: known.metadata!.resourceVersion! } };
  await write(name, { what: 'delete', expected: known && textOf(known), answer: 'ok' }, async () => {
    await client.delete(configmaps, { name, namespace }, options);
    return undefined;
  });
}

async function list(client: Client): Promise<void> {
  const invoked = performance.now();
  try {
    const { metadata, items } = await client.list(configmaps, { namespace });
    const objects = new Map(
      items.filter((item) => item.data?.v !== undefined).map((item) => [item.metadata!.name!, textOf(item)]),
    );
    lists.push({ revision: Number(metadata.resourceVersion), invoked, objects });
    // It is a read of each object, too.
    for (const name of names) record(name, { what: 'get', found: objects.get(name) ?? null }, invoked);
  } catch (error) {
    assert.equal(answerOf(error), 'unknown');
  }
}

/** Follows the changes from where it was, until the server is gone; `upTo`: until that revision was told. */
async function follow(client: Client, from: number, upTo = Number.POSITIVE_INFINITY): Promise<number> {
  let last = from;
  try {
    const options = { namespace, resourceVersion: String(from), allowWatchBookmarks: true };
    for await (const event of client.watch(configmaps, options)) {
      assert.notEqual(event.type, 'ERROR', JSON.stringify(event));
      if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
      last = revisionOf(event.object);
      const value = event.type === 'DELETED' ? null : textOf(event.object);
      changes.push({ revision: last, name: event.object.metadata!.name!, value });
      if (last >= upTo) break;
    }
  } catch (error) {
    if (error instanceof assert.AssertionError || isStatusError(error)) throw error;
  }
  return last;
}

/** Clients work until `operations` more were done; then the server is killed under them. Returns what the watch told last. */
async function round(server: ServerChild, seed: number, from: number, operations: number): Promise<number> {
  const opened = await Promise.all(Array.from({ length: clients + 1 }, () => server.connect()));
  const following = follow(opened[clients]!.client, from);
  const until = done + operations;
  let killed: Promise<void> | undefined;
  onDone = () => {
    // Clients are in the middle of something.
    if (done >= until) killed ??= server.kill();
  };
  await Promise.all(
    opened.slice(0, clients).map(({ client }, i) => work(client, seeded(seed * 100 + i), () => !!killed)),
  );
  await killed;
  const last = await following;
  await Promise.all(opened.map((one) => one.close()));
  return last;
}

/** Each list shows all changes up to its revision and no other, and no less than what was acknowledged before it began. */
function checkLists(): void {
  const state = new Map<string, string>();
  let next = 0;
  for (const { revision, objects, invoked } of lists.toSorted((a, b) => a.revision - b.revision)) {
    for (; next < changes.length && changes[next]!.revision <= revision; next++) {
      const { name, value } = changes[next]!;
      if (value === null) state.delete(name);
      else state.set(name, value);
    }
    assert.deepEqual([...objects].sort(), [...state].sort(), `the list at ${revision}`);
    for (const one of acknowledged)
      if (one.returned < invoked)
        assert.ok(one.revision <= revision, `a list at ${revision} after ${one.revision} was acknowledged`);
  }
}

test('what clients saw over kills is linearizable, and each list is what the changes up to its revision make', async (context) => {
  const scratch = scratchDirectory('linearizability');
  context.after(() => scratch.remove());
  const random = seeded(4);
  let server = await startServerChild({ dataDir: scratch.path });
  context.after(() => server.kill());
  let last = 1;
  for (let i = 0; i < rounds; i++) {
    last = await round(server, i + 1, last, 200 + random(300));
    server = await startServerChild({ dataDir: scratch.path });
  }
  const { client, close } = await server.connect();
  await list(client);
  const end = await client.create(configmaps, { metadata: { name: 'end', namespace }, data: { v: 'end' } });
  await follow(client, last, revisionOf(end));
  await close();

  let unknown = 0;
  for (const [name, history] of histories) {
    const wrong = unexplained(history);
    assert.equal(wrong, undefined, `${name}: ${JSON.stringify(wrong)}`);
    unknown += history.filter(
      ({ operation }) => 'answer' in operation && operation.answer === 'unknown',
    ).length;
  }
  for (const [i, { revision }] of changes.entries())
    if (i > 0) assert.ok(revision > changes[i - 1]!.revision, `the watch told ${revision} twice or late`);
  const told = new Map(changes.map((one) => [one.revision, one.value]));
  for (const { revision, value } of acknowledged) assert.equal(told.get(revision), value);
  checkLists();
  assert.ok(unknown > 0, 'no kill met a write');
  context.diagnostic(
    `${rounds} kills, ${clients} clients, ${done} operations, ${lists.length} lists, ${acknowledged.length} acknowledged writes, ${unknown} lost answers, ${changes.length} changes`,
  );
});
