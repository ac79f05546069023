// Records of a byte: whoever reads the socket gets them together, and in their order.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { SocketRecords } from './socket-records.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function socket(): Promise<{
  readonly socket: Socket;
  readonly records: SocketRecords;
  readonly pieces: string[];
}> {
  const made = new Socket();
  const pieces: string[] = [];
  const records = new SocketRecords(made);
  made.on('data', (bytes: Buffer) => pieces.push(String(bytes)));
  await turn();
  return { socket: made, records, pieces };
}

test('a thousand records of a byte in one round are nine pieces', async () => {
  const { socket: made, pieces } = await socket();
  const text = Array.from({ length: 1000 }, (_, i) => `${i % 10}`).join('');
  for (const byte of text) made.push(Buffer.from(byte));
  assert.equal(pieces.length, 8);
  await turn();
  assert.equal(pieces.length, 9);
  assert.equal(pieces.join(''), text);
  made.push(Buffer.from('next'));
  assert.equal(pieces.at(-1), 'next', 'the next round begins anew');
});

test('what follows small records, large ones or the end, does not overtake them', async () => {
  const { socket: made, pieces } = await socket();
  for (const byte of '0123456789') made.push(Buffer.from(byte));
  made.push(Buffer.alloc(300, 'x'));
  made.push(Buffer.from('last'));
  made.push(null);
  await once(made, 'end');
  assert.equal(pieces.join(''), `0123456789${'x'.repeat(300)}last`);
});

test('fifty thousand records of a byte and nothing else end their connection, unless it is upgraded', async () => {
  for (const isFramed of [false, true]) {
    const { socket: made, records, pieces } = await socket();
    if (isFramed) records.framed();
    for (let i = 0; i < 50_000; i++) made.push(Buffer.from('.'));
    assert.equal(made.destroyed, !isFramed);
    await turn();
    assert.equal(pieces.join('').length, isFramed ? 50_000 : 8);
  }
});

test('a client that sends small records between others is kept', async () => {
  const { socket: made, pieces } = await socket();
  for (let i = 0; i < 60_000; i++) made.push(Buffer.alloc(i % 2 === 0 ? 8 : 120));
  await turn();
  assert.equal(made.destroyed, false);
  assert.equal(pieces.join('').length, 60_000 * 64);
});
