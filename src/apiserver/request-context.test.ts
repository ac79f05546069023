// What a request gathers on its way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../component-base/logger.ts';
import { panicRecoveryFilter } from './filters/panic-recovery.ts';
import { type ApiRequest, BodyTooLargeError } from './http.ts';
import { LargeBodies } from './large-bodies.ts';
import { maxWarningLength, RequestContext } from './request-context.ts';

const context = (): RequestContext => new RequestContext({ method: 'GET', url: '/' } as ApiRequest);

test('each warning is told once, and none that says nothing', () => {
  const one = context();
  for (const text of ['a', '', 'b', 'a']) one.warn(text);
  assert.deepEqual(one.warnings, ['a', 'b']);
});

test('of a hundred thousand warnings those are kept that the answer has room for', () => {
  const one = context();
  const from = process.cpuUsage();
  for (let i = 0; i < 100_000; i++) one.warn(`spec.items[${i}]: ${'x'.repeat(100)}`);
  assert.ok(one.warnings.length > 20 && one.warnings.length < 60, String(one.warnings.length));
  assert.ok(process.cpuUsage(from).user < 1_000_000);
  const long = context();
  for (let i = 0; i < 100; i++) long.warn(`${i}${'x'.repeat(10_000)}`);
  assert.equal(long.warnings.length, maxWarningLength / 256);
});

test('the body of a request whose client waits no longer is not read, and nothing is done for it', async () => {
  const late = new AbortController();
  const signal = new AbortController().signal;
  const body = Promise.withResolvers<Buffer>();
  let asked = 0;
  const readBody = (): Promise<Buffer> => {
    asked++;
    return body.promise;
  };
  const one = new RequestContext({ method: 'POST', url: '/', signal, readBody } as unknown as ApiRequest);
  one.endsWithin(1000, late.signal);
  one.checkTime();
  const reading = one.readBody(100);
  late.abort();
  body.resolve(Buffer.from('{}'));
  await assert.rejects(reading, { code: 504 });
  await assert.rejects(one.readBody(100), { code: 504 });
  assert.equal(asked, 1);
  assert.throws(() => one.checkTime(), { code: 504 });
});

test('a client that breaks off its body is answered, and the log does not tell of it as of a fault', async () => {
  for (const [error, status] of [
    [new Error('the client closed the connection before the body ended'), 500],
    [new BodyTooLargeError(100), 413],
  ] as const) {
    const readBody = (): Promise<Buffer> => Promise.reject(error);
    const request = { method: 'POST', url: '/', headers: {}, readBody } as unknown as ApiRequest;
    const logged: unknown[] = [];
    const log = { ...silentLogger, error: (...said: unknown[]) => void logged.push(said) };
    const serve = panicRecoveryFilter(log)(async (one) => {
      await one.readBody(100);
      assert.fail('read');
    });
    assert.equal((await serve(new RequestContext(request))).status, status);
    assert.deepEqual(logged, []);
  }
});

test('who waits for somebody else lets others work on their large bodies, unless too much waits already', async () => {
  const bodies = new LargeBodies(1);
  const reading = (bytes: number): RequestContext => {
    const request = { method: 'POST', url: '/', readBody: async () => Buffer.alloc(bytes) };
    return new RequestContext(request as unknown as ApiRequest, bodies);
  };
  const isTaken = async (): Promise<boolean> => {
    const leaving = bodies.take();
    const taken = await Promise.race([
      leaving.then(() => false),
      new Promise((done) => setImmediate(done, true)),
    ]);
    void leaving.then((leave) => leave());
    return taken === true;
  };
  const answer = Promise.withResolvers<string>();
  const waiting: Promise<string>[] = [];
  // Of a megabyte each, so many wait without a place.
  for (let i = 0; i < 32; i++) {
    const one = reading(1 << 20);
    await one.readBody(1 << 20);
    waiting.push(one.aside(() => answer.promise).finally(() => one.end()));
    assert.equal(await isTaken(), false);
  }
  const more = reading(1 << 20);
  await more.readBody(1 << 20);
  waiting.push(more.aside(() => answer.promise).finally(() => more.end()));
  assert.equal(await isTaken(), true);
  answer.resolve('allowed');
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['allowed']));
  await new Promise((done) => setImmediate(done));
  assert.equal(bodies.isIdle, true);
  const small = reading(10);
  await small.readBody(100);
  assert.equal(await small.aside(async () => 'small'), 'small');
});

test('why somebody else did not answer is told although it is too late by then, and nobody goes on too late', async () => {
  const bodies = new LargeBodies(1);
  const late = new AbortController();
  const signal = new AbortController().signal;
  const readBody = async (): Promise<Buffer> => Buffer.alloc(100_000);
  const one = new RequestContext(
    { method: 'POST', url: '/', signal, readBody } as unknown as ApiRequest,
    bodies,
  );
  one.endsWithin(1000, late.signal);
  await one.readBody(100_000);
  const others = Promise.withResolvers<() => void>();
  const why = new Error('the webhook is gone');
  const failed = one.aside(async () => {
    others.resolve(await bodies.take());
    late.abort();
    throw why;
  });
  await assert.rejects(failed, why);
  one.end();
  (await others.promise)();
  assert.equal(bodies.isIdle, true);
  const next = new AbortController();
  const two = new RequestContext(
    { method: 'POST', url: '/', signal, readBody } as unknown as ApiRequest,
    bodies,
  );
  two.endsWithin(1000, next.signal);
  await two.readBody(100_000);
  const answered = two.aside(async () => next.abort());
  await assert.rejects(answered, { code: 504 });
  two.end();
  assert.equal(bodies.isIdle, true);
});
