// What a watch begins with: in pieces, in turns, without a copy, and forgotten when it is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { Ending } from '../../base/ending.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { Turns } from '../../base/turns.ts';
import type { CachedObject, WatchCursor } from '../../storage/watch/resource-cache.ts';
import { WatchBody } from './watch-body.ts';
import { type FrameFormat, frameKeysOf } from './watch-frames.ts';

const most = 64 * 1024;
const negotiated = { mediaType: 'json', form: 'object', formVersion: 'v1', pretty: false } as const;
const declaration = { group: '', version: 'v1', kind: 'ConfigMap' } as ResourceDeclaration;
const cursor: WatchCursor = { next: () => undefined, revision: () => 1, onEvent() {}, close() {} };
const format: FrameFormat = {
  frameKeys: frameKeysOf(negotiated, declaration),
  negotiated,
  declaration,
  includeObject: 'Metadata',
  protobuf: undefined,
  convert: (value) => value,
  now: () => 0,
};
const stored = (bytes: number): Buffer =>
  Buffer.from(JSON.stringify({ kind: 'ConfigMap', data: { x: 'x'.repeat(bytes) } }));

function begin(values: readonly Buffer[], ends?: Ending, events: WatchCursor = cursor) {
  const due: (() => void)[] = [];
  const body = new WatchBody({
    clock: new FakeClock(),
    turns: new Turns((run) => due.push(run)),
    format,
    cursor: events,
    matches: undefined,
    initial: values.map((value) => ({ value }) as CachedObject),
    initialEnd: undefined,
    bookmarks: false,
    timeoutMs: 1_000,
    ends,
  });
  let isInitialized = body.initialized === undefined;
  void body.initialized?.then(() => {
    isInitialized = true;
  });
  return { body, due, isInitialized: () => isInitialized };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('large objects are sent as they are stored, a piece a turn; then the watch has begun', async () => {
  const values = [stored(900_000), stored(20), stored(300_000)];
  const { body, due, isInitialized } = begin(values);
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = body.pull(most);
    if (piece === null) assert.fail('it ended');
    if (piece !== undefined) {
      pieces.push(piece);
      continue;
    }
    await settled();
    if (isInitialized()) break;
    body.onReady(() => {});
    assert.equal(due.length, 1, 'it waits for a turn');
    due.shift()!();
  }
  assert.ok(
    pieces.every(({ length }) => length <= most),
    'a piece is not longer than asked for',
  );
  const frames = Buffer.concat(pieces).toString().trimEnd().split('\n');
  assert.deepEqual(
    frames.map((frame) => JSON.parse(frame)),
    values.map((value) => ({ type: 'ADDED', object: JSON.parse(value.toString()) })),
  );
  const own = pieces.filter(({ buffer }) => !values.some((value) => value.buffer === buffer));
  const copied = own.reduce((sum, { length }) => sum + length, 0);
  assert.ok(copied < 2 * most, `${copied} bytes were copied`);
});

test('few small objects are sent at once, and nothing waits for a turn', async () => {
  const { body, due, isInitialized } = begin([stored(20), stored(30)]);
  assert.equal(body.pull(most)?.toString().split('\n').length, 3);
  assert.equal(body.pull(most), undefined);
  await settled();
  assert.deepEqual([isInitialized(), due.length], [true, 0]);
  assert.equal(begin([]).isInitialized(), true);
});

test('a watch that is closed before it has sent all has begun, too: who waits for that goes on', async () => {
  const { body, isInitialized } = begin([stored(900_000)]);
  body.pull(most);
  await settled();
  assert.equal(isInitialized(), false);
  body.close();
  await settled();
  assert.equal(isInitialized(), true);
});

test('what ends it while it sends its beginning lets it send that; what ended it before lets it send nothing', async () => {
  const ends = new Ending();
  const { body, due } = begin([stored(20), stored(30)], ends);
  const woken = new Promise<void>((resolve) => body.onReady(resolve));
  ends.end({ call: (run) => run() });
  await woken;
  let sent = '';
  for (let piece = body.pull(most); piece !== null; piece = body.pull(most)) {
    if (piece !== undefined) sent += piece.toString();
    else body.onReady(() => {});
    for (const run of due.splice(0)) run();
  }
  assert.equal(sent.split('"ADDED"').length, 3);
  const { body: late, isInitialized } = begin([stored(20)], ends);
  assert.equal(late.pull(most), null);
  await settled();
  assert.equal(isInitialized(), true);
});

test('what is stored since it ended is not shown, though it was not told of its end yet', () => {
  const ends = new Ending();
  const object = { value: stored(20) } as CachedObject;
  const events = {
    ...cursor,
    next: () => ({ type: 'ADDED', object, revision: 2 }),
  } as unknown as WatchCursor;
  const { body } = begin([], ends, events);
  for (let others = 0; others < 100; others++) ends.onEnd(() => {});
  const { body: last } = begin([], ends, events);
  ends.end({ call: () => {} });
  assert.equal(body.pull(most), null);
  assert.equal(last.pull(most), null);
});
