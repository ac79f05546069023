// What is written into a pod that no node takes, and what is not.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Client } from '../client/client.ts';
import { silentLogger as log } from '../component-base/logger.ts';
import { type Refusal, RefusalWriter } from './refusal-writer.ts';
import { makePod } from './testing/builders.ts';

const refusal: Refusal = { reason: 'Unschedulable', message: 'no nodes available to schedule pods' };

interface Write {
  readonly name: string;
  readonly body: { readonly status: { readonly conditions: readonly Record<string, unknown>[] } };
  readonly end: (error?: unknown) => Promise<void>;
}

/** Writes stay under way until the test ends them. */
function heldClient(writes: Write[]): Client {
  const patch: Client['patch'] = (_resource, key, { body }) =>
    new Promise((resolve, reject) => {
      const end = async (error?: unknown): Promise<void> => {
        if (error === undefined) resolve(undefined as never);
        else reject(error);
        await new Promise(setImmediate);
      };
      writes.push({ name: key.name, body: body as Write['body'], end });
    });
  return { patch } as Client;
}

/** As the informer shows the pod after the write. */
const written = (pod: Pod, { body }: Write): Pod => ({
  ...pod,
  status: body.status as unknown as Pod['status'],
});

describe('the writer of refusals', () => {
  let clock: FakeClock;
  let writes: Write[];
  let writer: RefusalWriter;
  beforeEach(() => {
    clock = new FakeClock();
    writes = [];
    writer = new RefusalWriter({ client: heldClient(writes), clock, log });
  });
  const names = (): string[] => writes.map(({ name }) => name);

  test('writes a refusal once: the second failed try with the same reason writes nothing', async () => {
    const pod = makePod('p');
    writer.write(pod, refusal);
    await writes[0]!.end();
    assert.deepEqual(writes[0]!.body.status.conditions, [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: refusal.message,
        lastProbeTime: null,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]);
    writer.write(written(pod, writes[0]!), refusal);
    assert.equal(writes.length, 1);
    assert.equal(clock.pending, 0, 'nothing is due');
  });

  test('writes what changed, and keeps since when the pod is refused', async () => {
    const pod = makePod('p');
    writer.write(pod, refusal);
    await writes[0]!.end();
    clock.advance(60_000);
    const now = written(pod, writes[0]!);
    writer.write(now, { reason: 'SchedulerError', message: refusal.message });
    await writes[1]!.end();
    writer.write(now, { ...refusal, message: '0/1 nodes are available: 1 Too many pods.' });
    await writes[2]!.end();
    writer.write(now, { ...refusal, nominatedNode: 'a' });
    assert.equal(writes.length, 4);
    for (const { body } of writes)
      assert.equal(body.status.conditions[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');
  });

  test('has sixteen writes under way, however many pods there are, and writes the last word of those that wait', async () => {
    const pods = Array.from({ length: 18 }, (_, i) => makePod(`p${i}`));
    for (const pod of pods) writer.write(pod, refusal);
    assert.equal(writes.length, 16);
    writer.write(pods[16]!, { ...refusal, message: 'newer' });
    await writes[0]!.end();
    await writes[1]!.end();
    assert.deepEqual(names().slice(16), ['p17', 'p16']);
    assert.equal(writes[17]!.body.status.conditions[0]?.message, 'newer');
  });

  test('writes one word about a pod after the other', async () => {
    const pod = makePod('p');
    writer.write(pod, refusal);
    writer.write(pod, { ...refusal, message: 'newer' });
    assert.equal(writes.length, 1);
    await writes[0]!.end();
    assert.equal(writes[1]!.body.status.conditions[0]?.message, 'newer');
  });

  test('writes nothing about a pod that got its node, and tells when the write under way is over', async () => {
    const pods = Array.from({ length: 17 }, (_, i) => makePod(`p${i}`));
    for (const pod of pods) writer.write(pod, refusal);
    assert.equal(writer.forget(pods[16]!), undefined);
    let isOver = false;
    const over = writer.forget(pods[0]!)!.then(() => {
      isOver = true;
    });
    await writes[1]!.end();
    assert.equal(isOver, false);
    await writes[0]!.end(new StatusError(429, 'TooManyRequests', 'later'));
    await over;
    clock.advance(60_000);
    assert.equal(writes.length, 16, 'neither the one that waited nor the one sent back');
  });

  test('waits a second when the server has too many requests, and then writes all', async () => {
    const pods = Array.from({ length: 17 }, (_, i) => makePod(`p${i}`));
    for (const pod of pods) writer.write(pod, refusal);
    await writes[0]!.end(new StatusError(429, 'TooManyRequests', 'later'));
    await writes[1]!.end();
    clock.advance(999);
    assert.equal(writes.length, 16);
    clock.advance(1);
    assert.deepEqual(names().slice(16), ['p16', 'p0']);
  });

  test('goes on after a write that fails, and stops when told to', async () => {
    const pods = Array.from({ length: 18 }, (_, i) => makePod(`p${i}`));
    for (const pod of pods) writer.write(pod, refusal);
    await writes[0]!.end(new StatusError(404, 'NotFound', 'gone'));
    assert.equal(writes.length, 17);
    await writes[1]!.end(new StatusError(429, 'TooManyRequests', 'later'));
    writer.stop();
    assert.equal(clock.pending, 0);
    await writes[2]!.end();
    assert.equal(writes.length, 17);
  });
});
