// Seats come back: when an answer is read, when it is given up, and when it is read too slowly.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { type ApiRequest, type ApiResponse, isPullBody, type PullBody } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { type FairnessDependencies, priorityAndFairnessFilter } from './priority-and-fairness.ts';

/** Asks for streams of one user, which the handler answers with `response`. */
function streaming(
  response: (request: Partial<ApiRequest>) => ApiResponse,
  exempt = false,
): (request?: Partial<ApiRequest>) => Promise<ApiResponse> {
  const flow = {
    classify: () => ({ level: { exempt, uid: 'l' }, schema: { metadata: { uid: 's' } } }),
    turn: () => undefined,
    enter: () => assert.fail('a stream has no seat'),
    leave: () => assert.fail('a stream has no seat'),
  } as unknown as FairnessDependencies['flow'];
  const filter = priorityAndFairnessFilter({
    flow,
    clock: new FakeClock(),
    limits: { requests: 1, watches: 1, streams: 2 },
    running: { begins: () => () => {} },
    isElsewhere: () => false,
    count: () => 1,
  });
  const serve = filter(async (context) => response(context.request));
  return async (request = {}) =>
    await serve({
      info: { isResource: true, verb: 'create', resource: 'pods', subresource: 'exec' },
      user: { name: 'tenant' },
      request,
    } as unknown as RequestContext);
}

test('a user has so many streams and no more; a place is free when a connection, a body or an answer has ended', async () => {
  const hijack = streaming(() => ({ status: 101, headers: {}, body: undefined, hijacked: true }));
  const upgrade = () => ({ upgrade: { socket: new PassThrough(), head: Buffer.alloc(0) } });
  const first = upgrade();
  assert.equal((await hijack(first)).status, 101);
  assert.equal((await hijack(upgrade())).status, 101);
  assert.equal((await hijack(upgrade())).status, 429);
  const closed = once(first.upgrade.socket, 'close');
  first.upgrade.socket.destroy();
  await closed;
  const gone = upgrade();
  gone.upgrade.socket.destroy();
  await once(gone.upgrade.socket, 'close');
  assert.equal((await hijack(gone)).status, 101);
  assert.equal((await hijack(upgrade())).status, 101);
  assert.equal((await hijack(upgrade())).status, 429);

  const log = streaming(() => {
    const body: PullBody = { pull: () => undefined, onReady: () => undefined, close: () => undefined };
    return { status: 200, headers: {}, body };
  });
  const [one, two] = [await log(), await log()];
  assert.equal((await log()).status, 429);
  for (const { body } of [one, two]) if (body !== undefined && isPullBody(body)) body.close();
  assert.equal((await log()).status, 200);

  const short = streaming(() => ({ status: 404, headers: {}, body: Buffer.from('x') }));
  for (let i = 0; i < 5; i++) assert.equal((await short()).status, 404);
  const administrator = streaming(
    () => ({ status: 101, headers: {}, body: undefined, hijacked: true }),
    true,
  );
  for (let i = 0; i < 5; i++) assert.equal((await administrator(upgrade())).status, 101);
});

/** The filter before a flow control that always has seats, and how many are taken. */
function seated(clock: FakeClock, limits: FairnessDependencies['limits']) {
  let seats = 0;
  const flow = {
    classify: () => ({ level: { exempt: false, uid: 'l' }, schema: { metadata: { uid: 's' } } }),
    enter: async () => {
      seats++;
      return {};
    },
    leave: () => void seats--,
  } as unknown as FairnessDependencies['flow'];
  const filter = priorityAndFairnessFilter({
    flow,
    clock,
    limits,
    running: { begins: () => () => {} },
    isElsewhere: () => false,
    count: () => 1,
  });
  return { filter, seats: () => seats };
}

test('a large answer has its place among its user’s requests until it is taken or given up, a small one does not', async () => {
  const { filter, seats } = seated(new FakeClock(), { requests: 1, watches: 1, streams: 1 });
  const ask = (bytes: number, request: Partial<ApiRequest>): Promise<ApiResponse> => {
    const body = Buffer.alloc(bytes);
    const context = {
      info: { isResource: true, verb: 'get', resource: 'configmaps', subresource: '' },
      user: { name: 'tenant' },
      query: new URLSearchParams(),
      request,
      timeLimitMs: 60_000,
    } as unknown as RequestContext;
    return filter(async () => ({ status: 200, headers: {}, body }))(context);
  };
  const taken = new AbortController();
  assert.equal((await ask(1000, { signal: new AbortController().signal })).status, 200);
  assert.equal((await ask(100_000, { user: { name: 'tenant', groups: [] } })).status, 200);
  assert.equal((await ask(100_000, { signal: taken.signal })).status, 200);
  assert.equal(seats(), 0);
  assert.equal((await ask(1000, { signal: taken.signal })).status, 429);
  taken.abort();
  assert.equal((await ask(100_000, { signal: taken.signal })).status, 200);
  assert.equal((await ask(1000, { signal: taken.signal })).status, 200);
});

/** A list that is made while it is read. */
async function slowAnswer(clock: FakeClock, onReady: PullBody['onReady'] = (ready) => ready()) {
  let closed = 0;
  const made: PullBody = {
    pull: () => Buffer.from('x'),
    onReady,
    close: () => void closed++,
  };
  const { filter, seats } = seated(clock, { requests: 1, watches: 1, streams: 2 });
  const serve = filter(async () => ({ status: 200, headers: {}, body: made }));
  const context = {
    info: { isResource: true, verb: 'list', resource: 'configmaps', subresource: '' },
    user: { name: 'tenant' },
    query: new URLSearchParams(),
    request: {},
    timeLimitMs: 60_000,
  } as unknown as RequestContext;
  const { body } = await serve(context);
  assert.ok(body !== undefined && isPullBody(body));
  return { body, seats, closed: () => closed, again: () => serve(context) };
}

test('who reads an answer a little at a time keeps its seats for a minute, then it is cut', async () => {
  const clock = new FakeClock();
  const { body, seats, again } = await slowAnswer(clock);
  for (let second = 0; second < 59; second++) {
    clock.advance(1000);
    assert.equal(body.pull(1)?.length, 1);
  }
  assert.equal(seats(), 1);
  assert.equal((await again()).status, 429, 'one request at a time');
  clock.advance(1000);
  assert.equal(seats(), 0);
  assert.throws(() => body.pull(1), /the answer was not read within 60 s/);
  assert.equal((await again()).status, 200, 'the user may ask again');
});

test('an answer whose piece does not come is cut after its time, and its source is told', async () => {
  const clock = new FakeClock();
  const { body, closed } = await slowAnswer(clock, () => {});
  let woken = 0;
  body.onReady(() => void woken++);
  clock.advance(59_999);
  assert.deepEqual([closed(), woken], [0, 0]);
  clock.advance(1);
  assert.deepEqual([closed(), woken], [1, 1]);
  assert.throws(() => body.pull(1), /the answer was not read within 60 s/);
});

test('an answer that is given up gives its seats back once, and leaves no timer', async () => {
  const clock = new FakeClock();
  const { body, seats, closed } = await slowAnswer(clock);
  body.close();
  body.close();
  clock.advance(120_000);
  assert.deepEqual([seats(), closed(), clock.pending], [0, 2, 0]);
});

/** A watch that has something to say at once. */
function beginning() {
  const clock = new FakeClock();
  const begun: (() => void)[] = [];
  const { filter, seats } = seated(clock, { requests: 2, watches: 3, streams: 2 });
  const serve = filter(async () => {
    const initialized = new Promise<void>((resolve) => begun.push(resolve));
    const body: PullBody = { initialized, pull: () => undefined, onReady() {}, close() {} };
    return { status: 200, headers: {}, body };
  });
  const watch = async () =>
    await serve({
      info: { isResource: true, verb: 'watch', resource: 'configmaps', subresource: '', name: '' },
      user: { name: 'tenant' },
      query: new URLSearchParams(),
      request: {},
      timeLimitMs: 60_000,
    } as unknown as RequestContext);
  return { clock, begun, watch, seats };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a watch has its seats until what it begins with is sent, and its place among watches until its end', async () => {
  const { clock, begun, watch, seats } = beginning();
  const first = await watch();
  await watch();
  assert.equal(seats(), 2);
  assert.equal((await watch()).status, 429, 'two requests at a time');
  begun[0]!();
  await settled();
  assert.equal(seats(), 1);
  assert.equal((await watch()).status, 200);
  for (const one of begun) one();
  await settled();
  assert.deepEqual([seats(), clock.pending], [0, 0]);
  assert.equal((await watch()).status, 429, 'three watches');
  assert.ok(first.body !== undefined && isPullBody(first.body));
  first.body.close();
  assert.equal((await watch()).status, 200);
});

test('who reads what a watch begins with slowly has its seats for a minute; the watch goes on', async () => {
  const { clock, watch, seats } = beginning();
  const { body } = await watch();
  clock.advance(59_999);
  assert.equal(seats(), 1);
  clock.advance(1);
  assert.equal(seats(), 0);
  assert.ok(body !== undefined && isPullBody(body));
  assert.equal(body.pull(1), undefined);
});
