// A question ends with its own signal, also while it waits for a connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { HttpsClient } from './https-client.ts';

test('a question that waits for a connection ends with its own signal, not with the question before it', async () => {
  const silent = createServer(() => {});
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const client = new HttpsClient({ maxAnswerBytes: 1024, maxConnections: 1, maxAllConnections: 1 });
  const ended: string[] = [];
  const ask = (name: string): { leave: () => void; end: Promise<unknown> } => {
    const controller = new AbortController();
    const question = { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0) };
    const asked = client.ask({ host: '127.0.0.1', port }, { ...question, signal: controller.signal });
    const end = assert.rejects(asked, { message: `${name} left` }).then(() => ended.push(name));
    return { leave: () => controller.abort(new Error(`${name} left`)), end };
  };

  const connected = once(silent, 'connection');
  const first = ask('first');
  await connected;
  const second = ask('second');
  second.leave();
  await new Promise(setImmediate);
  assert.deepEqual(ended, ['second']);
  // The place of the first is for the third: who left takes none.
  const third = ask('third');
  const again = once(silent, 'connection');
  first.leave();
  await again;
  third.leave();
  await Promise.all([first.end, second.end, third.end]);
  assert.deepEqual(ended, ['second', 'first', 'third']);
  const late = new AbortController();
  late.abort(new Error('late'));
  await assert.rejects(
    client.ask(
      { host: '127.0.0.1', port },
      { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0), signal: late.signal },
    ),
    { message: 'late' },
  );
  client.close();
  silent.close();
});
