// Bodies that are pulled: whatever ends the reading, the source is told.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { writePull } from './body-writer.ts';
import type { PullBody } from './http-message.ts';
import { pullBodyOf } from './pull-body.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function source(pieces: number, failing = false) {
  const state = { opened: 0, closed: 0 };
  async function* make(): AsyncGenerator<Buffer> {
    state.opened++;
    try {
      for (let i = 0; i < pieces; i++) yield Buffer.alloc(1000, 'x');
      if (failing) throw new Error('the disk is broken');
    } finally {
      state.closed++;
    }
  }
  return { state, make };
}

test('a reader that leaves ends the source, wherever it was', async () => {
  for (const pulls of [0, 1, 2, 7]) {
    const { state, make } = source(100);
    const body = pullBodyOf(make());
    for (let i = 0; i < pulls; i++) {
      body.pull(300);
      await turn();
    }
    body.close();
    body.close();
    await turn();
    assert.equal(state.closed, state.opened, `${pulls} pulls`);
    assert.equal(body.pull(300), null);
  }
});

test('a reader that leaves while a piece is being made ends the source after it', async () => {
  const piece = Promise.withResolvers<void>();
  let closed = false;
  async function* slow(): AsyncGenerator<Buffer> {
    try {
      await piece.promise;
      yield Buffer.from('late');
    } finally {
      closed = true;
    }
  }
  const body = pullBodyOf(slow(), () => piece.resolve());
  assert.equal(body.pull(10), undefined);
  let called = 0;
  body.onReady(() => called++);
  body.close();
  await turn();
  assert.equal(closed, true);
  assert.equal(called, 0);
});

test('a source that fails cuts its reader instead of telling an end', async () => {
  const { state, make } = source(2, true);
  const out = new PassThrough();
  const errors: string[] = [];
  out.on('error', (error) => void errors.push(error.message));
  out.resume();
  let ended = 0;
  writePull(out, pullBodyOf(make()), () => ended++);
  await new Promise((resolve) => out.once('close', resolve));
  assert.deepEqual(errors, ['the disk is broken']);
  assert.equal(ended, 1);
  assert.equal(state.closed, 1);
  assert.equal(out.writableFinished, false);
});

test('a body that throws from a callback ends its own stream and nothing else', async () => {
  let closes = 0;
  const body: PullBody = {
    pull: () => undefined,
    onReady: (call) => {
      body.pull = () => {
        throw new Error('bug');
      };
      setImmediate(call);
    },
    close: () => void closes++,
  };
  const out = new PassThrough();
  const failed = new Promise<Error>((resolve) => out.once('error', resolve));
  writePull(out, body, () => {});
  assert.equal((await failed).message, 'bug');
  assert.equal(closes, 1);
});
