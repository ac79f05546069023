// Long YAML is read elsewhere: this thread goes on, and what the other can't read does not end it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readYamlBody } from '../base/yaml.ts';
import { createYamlThread } from './yaml-thread.ts';

const long = (value: string): string => `# ${'x'.repeat(20_000)}\na: ${value}\n`;

test('long and short texts are read alike, many at once, and each fault is told', async (t) => {
  const thread = createYamlThread();
  t.after(() => thread.close());
  const texts = ['1', '[x, 12345678901234567890]', '"é\\t"', '!!binary aGVsbG8='];
  for (const write of [long, (value: string) => `a: ${value}`])
    assert.deepEqual(
      await Promise.all(texts.map((text) => thread.read(write(text)))),
      texts.map((text) => readYamlBody(`a: ${text}`)),
    );
  for (const text of [long('['), 'a: [']) await assert.rejects(thread.read(text), /Flow sequence in block/);
  assert.deepEqual(await thread.read(long('2\na: 3')), {
    json: '{"a":3}',
    repeated: ['line 3: key "a" already set in map'],
  });
});

test('a thread that ends refuses what it was reading; the next text has another one', async (t) => {
  const ending = new URL(
    'data:text/javascript,import { parentPort } from "node:worker_threads"; parentPort.on("message", () => process.exit(1));',
  );
  const thread = createYamlThread(ending);
  t.after(() => thread.close());
  const refused = await Promise.allSettled([thread.read(long('1')), thread.read(long('2'))]);
  for (const one of refused) assert.match(String(one.status === 'rejected' && one.reason), /too complex/);
});

test('a server that ends refuses what waits', async () => {
  const thread = createYamlThread();
  const settled = Promise.allSettled([thread.read(long('1')), thread.read(long('2'))]);
  await thread.close();
  for (const one of await settled) assert.equal(one.status, 'rejected');
});

test('the answer of a thread that was given up is not what the next one reads', async (t) => {
  const echo = new URL(
    'data:text/javascript,import { parentPort } from "node:worker_threads"; parentPort.on("message", (text) => parentPort.postMessage({ json: text }));',
  );
  const thread = createYamlThread(echo, 50);
  t.after(() => thread.close());
  const texts = [long('1'), long('2'), long('3')];
  const settled = Promise.allSettled(texts.map((text) => thread.read(text)));
  // The patience ends while the answer lies in the queue: this thread does not look for either.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  for (const [at, one] of (await settled).entries())
    if (one.status === 'fulfilled') assert.equal(one.value.json, texts[at]);
});
