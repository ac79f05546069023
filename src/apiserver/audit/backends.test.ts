// Events on their way: kept back, sent together, cut, sent again, and lost where nobody takes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent } from '../../api/audit/event.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { type AuditBackend, AuditFailures, ignoringFailures, unionBackend } from './backend.ts';
import { type BatchOptions, BufferedBackend } from './backend-buffered.ts';
import { fileBackend } from './backend-file.ts';
import { truncatedBackend } from './backend-truncated.ts';
import { type JsonReceiver, WebhookBackend } from './backend-webhook.ts';

const event = (auditID: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  level: 'Request',
  auditID,
  stage: 'ResponseComplete',
  requestURI: '/api',
  verb: 'get',
  user: { username: 'admin', groups: ['a', 'b'] },
  sourceIPs: ['127.0.0.1'],
  userAgent: 'x',
  requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
  stageTimestamp: '2026-01-01T00:00:00.000000Z',
  ...more,
});
const events = (count: number): AuditEvent[] => Array.from({ length: count }, (_, i) => event(String(i)));

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function failures() {
  const metrics = createMetrics();
  const lost = async (plugin: string): Promise<number> => {
    const { text } = await metrics.text();
    const found = new RegExp(`^apiserver_audit_error_total\\{plugin="${plugin}"\\} (\\d+)$`, 'm').exec(text);
    return Number(found?.[1] ?? 0);
  };
  return { failures: new AuditFailures(silentLogger, metrics), lost };
}

/** Keeps what it is given; where `hangs`, each batch until it is released. */
function keeper(hangs = false) {
  const batches: string[][] = [];
  const waiting: (() => void)[] = [];
  const backend: AuditBackend = {
    process(batch) {
      batches.push(batch.map((e) => e.auditID));
      return hangs ? new Promise((resolve) => waiting.push(() => resolve(true))) : true;
    },
    close: async () => {},
  };
  return { backend, batches, release: () => waiting.splice(0).forEach((done) => void done()) };
}

function buffered(options: Partial<BatchOptions>, hangs = false) {
  const clock = new FakeClock();
  const kept = keeper(hangs);
  const { failures: tells, lost } = failures();
  const bytes = { maxBufferedBytes: 1_000_000, maxBatchBytes: 100_000 };
  const all = {
    bufferSize: 10,
    maxBatchSize: 3,
    maxBatchWaitMs: 1_000,
    maxUnderWay: 2,
    ...bytes,
    ...options,
  };
  return { ...kept, clock, lost, buffer: new BufferedBackend(kept.backend, all, clock, tells) };
}

test('a batch goes when it is full, or when its first event has waited long enough', async () => {
  const { buffer, batches, clock } = buffered({});
  buffer.process(events(4));
  assert.deepEqual(batches, [['0', '1', '2']]);
  buffer.process([event('last')]);
  clock.advance(999);
  assert.equal(batches.length, 1);
  clock.advance(1);
  assert.deepEqual(batches[1], ['3', 'last']);
  assert.equal(clock.pending, 0);
  await buffer.close();
});

test('what is left when the server ends is sent, and later events are told as lost', async () => {
  const { buffer, batches, lost } = buffered({});
  buffer.process([event('a')]);
  await buffer.close();
  assert.deepEqual(batches, [['a']]);
  buffer.process([event('b')]);
  assert.equal(await lost('buffered'), 1);
});

test('a receiver that hangs holds some batches and the buffer; what comes beyond is lost, and nobody waits', async () => {
  const { buffer, batches, lost, release } = buffered({}, true);
  for (const one of events(20)) assert.equal(buffer.process([one]), true);
  assert.equal(batches.length, 2);
  assert.equal(await lost('buffered'), 20 - 2 * 3 - 10);
  release();
  await settled();
  assert.equal(batches.length, 4);
  const closed = buffer.close();
  for (let turns = 0; turns < 4; turns++) {
    release();
    await settled();
  }
  await closed;
  assert.equal(batches.flat().length, 16);
});

test('what hangs holds so many bytes of objects, not so many large events as it may hold small ones', async () => {
  const { buffer, batches, lost, release } = buffered({ maxBatchSize: 10, maxBatchWaitMs: 0 }, true);
  const large = (id: string): AuditEvent => event(id, { requestObject: 'x'.repeat(300_000) });
  for (const id of ['a', 'b', 'c', 'd', 'e']) buffer.process([large(id)]);
  assert.equal(await lost('buffered'), 2);
  buffer.process([event('small')]);
  assert.equal(await lost('buffered'), 2);
  const closed = buffer.close();
  for (let turns = 0; turns < 6; turns++) {
    release();
    await settled();
  }
  await closed;
  assert.deepEqual(batches, [['a'], ['b'], ['c'], ['small']], 'and each batch has its bound');
});

test('batches are slowed down to so many a second, with some at once after a rest', () => {
  const { buffer, batches, clock } = buffered({ maxBatchSize: 1, throttle: { qps: 10, burst: 2 } });
  buffer.process(events(5));
  assert.equal(batches.length, 2);
  clock.advance(100);
  assert.equal(batches.length, 3);
  clock.advance(200);
  assert.equal(batches.length, 5);
});

test('an event that is too large loses its objects, says so, and one that still is too large is lost', async () => {
  const kept: AuditEvent[] = [];
  const backend: AuditBackend = { process: (batch) => kept.push(...batch) > 0, close: async () => {} };
  const { failures: tells, lost } = failures();
  const cut = truncatedBackend(backend, { maxEventBytes: 600, maxBatchBytes: 10_000 }, tells);
  const large = JSON.stringify({ data: 'x'.repeat(1_000) });
  await cut.process([
    event('objects', { requestObject: large }),
    event('uri', { requestURI: 'x'.repeat(1_000) }),
    event('small', { requestObject: '{}' }),
  ]);
  assert.deepEqual(
    kept.map((e) => [e.auditID, e.requestObject, e.annotations]),
    [
      ['objects', undefined, { 'audit.k8s.io/truncated': 'true' }],
      ['small', '{}', undefined],
    ],
  );
  assert.equal(await lost('truncate'), 1);
});

test('a batch that is too large is sent in parts', async () => {
  const { backend, batches } = keeper();
  const cut = truncatedBackend(backend, { maxEventBytes: 1_000, maxBatchBytes: 1_000 }, failures().failures);
  await cut.process(events(5));
  assert.deepEqual(batches, [
    ['0', '1', '2'],
    ['3', '4'],
  ]);
});

function webhook(post: JsonReceiver['post']) {
  const clock = new FakeClock();
  const { failures: tells, lost } = failures();
  const random = { fraction: () => 0 };
  const receiver = { post, close: () => {} };
  const options = { receiver, initialBackoffMs: 1_000, clock, random, failures: tells };
  return { clock, lost, backend: new WebhookBackend(options) };
}

test('a webhook is sent an EventList, again and again, each time later, and five times at most', async () => {
  const sent: { kind: string; apiVersion: string; items: { auditID: string; kind?: string }[] }[] = [];
  let refusals = 2;
  const { backend, clock, lost } = webhook(async (body) => {
    sent.push(JSON.parse(body.toString()));
    if (refusals-- > 0) throw new Error('answered 500');
  });
  const kept = backend.process(events(2));
  await settled();
  clock.advance(999);
  await settled();
  assert.equal(sent.length, 1);
  clock.advance(1);
  await settled();
  clock.advance(1_499);
  await settled();
  assert.equal(sent.length, 2);
  clock.advance(1);
  assert.equal(await kept, true);
  assert.deepEqual([sent[2]!.kind, sent[2]!.apiVersion], ['EventList', 'audit.k8s.io/v1']);
  assert.deepEqual(
    sent[2]!.items.map((item) => [item.auditID, item.kind]),
    [
      ['0', undefined],
      ['1', undefined],
    ],
  );
  refusals = Number.POSITIVE_INFINITY;
  const gone = backend.process(events(3));
  for (let i = 0; i < 4; i++) {
    await settled();
    clock.advance(10_000);
  }
  assert.equal(await gone, false);
  assert.equal(sent.length, 3 + 5);
  assert.equal(await lost('webhook'), 3);
});

test('a webhook that never answers is given up after its time, and does not hold up the end', async () => {
  const { backend, clock, lost } = webhook(
    (_body, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  const kept = backend.process(events(1));
  const closed = backend.close();
  clock.advance(2_000);
  await closed;
  assert.equal(await kept, false);
  assert.equal(await lost('webhook'), 1);
});

test('a file that takes nothing: requests go on in mode blocking, and are refused in blocking-strict', async () => {
  let full = true;
  const lines: string[] = [];
  const { failures: tells, lost } = failures();
  const sink = {
    write(text: string) {
      if (full) throw new Error('ENOSPC: no space left on device, write');
      lines.push(text);
    },
    close: async () => {},
  };
  const strict = fileBackend(sink, 'legacy', tells);
  assert.equal(strict.process(events(2)), false);
  assert.equal(ignoringFailures(strict).process(events(1)), true);
  assert.equal(unionBackend([strict, keeper().backend]).process(events(1)), false);
  assert.equal(await lost('log'), 4);
  full = false;
  assert.equal(strict.process([event('a', { userAgent: 'a"b\n' })]), true);
  assert.deepEqual(lines, [
    '2026-01-01T00:00:00.000000Z AUDIT: id="a" stage="ResponseComplete" ip="127.0.0.1" method="get" user="admin" groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" user-agent="a\\"b\\n" namespace="<none>" uri="/api" response="<deferred>"\n',
  ]);
});
