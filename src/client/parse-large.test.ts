// What a component is told of a large object is parsed in turns, and told in the order in which it came.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchEvents } from './watch-stream.ts';

const large = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`key-${i}`, 'value']));
const lines = ['one', large, 'two'].map((data, i) =>
  JSON.stringify({ type: 'MODIFIED', object: { metadata: { resourceVersion: String(i) }, data } }),
);

async function* chunks(): AsyncGenerator<Buffer> {
  yield Buffer.from(`${lines.join('\n')}\n`);
}

test('between the pieces of a large event the loop has turns, and the events stay in order', async () => {
  let rounds = 0;
  const count = (): void => {
    rounds++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const seen: unknown[] = [];
  for await (const event of watchEvents(chunks())) seen.push(event);
  clearImmediate(counting);
  assert.deepEqual(
    seen,
    lines.map((line) => JSON.parse(line)),
  );
  assert.ok(rounds >= 8, `${rounds} rounds`);
});
