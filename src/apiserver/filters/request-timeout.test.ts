// How long a client would wait: it has its answer by then, and what works on it is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { LargeBodies } from '../large-bodies.ts';
import { RequestContext } from '../request-context.ts';
import { requestTimeoutFilter } from './request-timeout.ts';

const { signal } = new AbortController();

function contextOf(query: string): RequestContext {
  const url = `/api/v1/namespaces/default/configmaps?${query}`;
  const context = new RequestContext({ method: 'GET', url, headers: {}, signal } as unknown as ApiRequest);
  context.readInfo();
  return context;
}

test('who waits a shorter time than the server does is told when it is over, and so is who works on the answer', async () => {
  const clock = new FakeClock();
  const answer = Promise.withResolvers<ApiResponse>();
  const context = contextOf('timeout=1s');
  const served = requestTimeoutFilter(clock)(() => answer.promise)(context);
  clock.advance(999);
  assert.equal(context.signal.aborted, false);
  clock.advance(1);
  assert.equal(context.signal.aborted, true);
  await assert.rejects(served, {
    code: 504,
    message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
  });
  let closed = false;
  const close = (): void => {
    closed = true;
  };
  const body = { pull: () => undefined, onReady: () => {}, close };
  answer.resolve({ status: 200, headers: {}, body });
  await answer.promise;
  assert.equal(closed, true);
});

test('an answer that is there in time is the answer, and what is left of the time is for reading it', async () => {
  const clock = new FakeClock();
  const context = contextOf('timeout=1s');
  const response: ApiResponse = { status: 200, headers: {}, body: undefined };
  assert.equal(await requestTimeoutFilter(clock)(async () => response)(context), response);
  clock.advance(2000);
  assert.equal(context.signal.aborted, false);
  assert.equal(context.timeLimitMs, 1000);
});

test('no time, a longer one than the server has, and that of a watch change nothing', async () => {
  const clock = new FakeClock();
  for (const query of ['timeout=0', 'timeout=-1s', 'timeout=', 'timeout=2m', 'timeout=1s&watch=true', 'x']) {
    const context = contextOf(query);
    const answer = Promise.withResolvers<ApiResponse>();
    const served = requestTimeoutFilter(clock)(() => answer.promise)(context);
    clock.advance(59_000);
    assert.equal(context.timeLimitMs, 60_000, query);
    assert.equal(context.signal, signal, query);
    answer.resolve({ status: 200, headers: {}, body: undefined });
    assert.equal((await served).status, 200, query);
  }
});

test('the place of a large body that is worked on longer than its client waits is held as long, and given back', async () => {
  const clock = new FakeClock();
  const places = new LargeBodies(1);
  const url = '/api/v1/namespaces/default/configmaps?timeout=1s';
  const read = async (): Promise<Buffer> => Buffer.alloc(100_000);
  const request = { method: 'POST', url, headers: {}, signal, readBody: read } as unknown as ApiRequest;
  const context = new RequestContext(request, places);
  context.readInfo();
  const work = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const served = requestTimeoutFilter(clock)(async () => {
    await context.readBody(1 << 20);
    begun.resolve();
    await work.promise;
    return { status: 200, headers: {}, body: undefined };
  })(context);
  await begun.promise;
  clock.advance(1000);
  await assert.rejects(served, { code: 504 });
  context.end();
  const next = places.take();
  const soon = (): Promise<unknown> =>
    Promise.race([next.then(() => 'free'), new Promise((done) => setImmediate(done, 'taken'))]);
  assert.equal(await soon(), 'taken');
  work.resolve();
  assert.equal(await soon(), 'free');
  (await next)();
  assert.equal(places.isIdle, true);
});

test('who waits for the place of a large body until its client does no longer gets none', async () => {
  const clock = new FakeClock();
  const places = new LargeBodies(1);
  const others = await places.take();
  const read = Promise.withResolvers<Buffer>();
  const request = {
    method: 'POST',
    url: '/api/v1/pods?timeout=1s',
    headers: {},
    signal,
    readBody: () => read.promise,
  };
  const context = new RequestContext(request as unknown as ApiRequest, places);
  context.readInfo();
  const reading = Promise.withResolvers<unknown>();
  const served = requestTimeoutFilter(clock)(async () => {
    reading.resolve(await context.readBody(1 << 20).catch((error: Error) => error.name));
    return { status: 200, headers: {}, body: undefined };
  })(context);
  read.resolve(Buffer.alloc(100_000));
  await new Promise((done) => setImmediate(done));
  clock.advance(1000);
  await assert.rejects(served, { code: 504 });
  assert.equal(await reading.promise, 'AbortError');
  context.end();
  others();
  assert.equal(places.isIdle, true);
});
