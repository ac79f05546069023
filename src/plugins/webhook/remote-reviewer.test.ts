// A service that is asked for a verdict: tried again, and no longer than there is time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { HttpsClient } from '../../wire/https-client.ts';
import { createRemoteReviewer, ReviewError, type TryResult } from './remote-reviewer.ts';

test('time that is over between two tries is no fault of another kind: the last try says why there is no verdict', async () => {
  const clock = new FakeClock();
  const results: TryResult[] = [];
  const client = {
    ask: async () => ({ status: 504, headers: {}, body: Buffer.from('slow') }),
  } as unknown as HttpsClient;
  const reviewer = createRemoteReviewer({
    transport: { server: 'https://reviews.example.com' },
    client,
    clock,
    timeoutMs: 400,
    tried: (result) => results.push(result),
  });
  const asked = reviewer.review({}).then(
    () => 'a verdict',
    (error: unknown) => error,
  );
  while (clock.pending < 2) await new Promise(setImmediate);
  clock.advance(400);
  const error = await asked;
  assert.ok(error instanceof ReviewError, String(error));
  assert.equal(error.result, 'timeout');
  assert.match(error.message, /"slow".*status 504$/);
  assert.deepEqual(results, ['timeout']);
  assert.equal(clock.pending, 0);
});

const kinds: readonly (readonly [answer: object, verdict: string])[] = [
  [{ kind: 'ImageReview', apiVersion: 'imagepolicy.k8s.io/v1alpha1' }, 'allowed'],
  [{}, 'allowed'],
  [{ kind: 'ImageReview' }, 'allowed'],
  [{ kind: 'Pod', apiVersion: 'v1' }, 'converting (v1.Pod) to (v1alpha1.ImageReview): unknown conversion'],
  [
    { kind: 'ImageReview', apiVersion: 'imagepolicy.k8s.io/v1' },
    'converting (v1.ImageReview) to (v1alpha1.ImageReview): unknown conversion',
  ],
];
for (const [answer, verdict] of kinds)
  test(`an answer that says ${JSON.stringify(answer)} of itself, asked for an ImageReview: ${verdict}`, async () => {
    const body = Buffer.from(JSON.stringify({ ...answer, status: { allowed: true } }));
    const reviewer = createRemoteReviewer({
      transport: { server: 'https://reviews.example.com' },
      client: { ask: async () => ({ status: 200, headers: {}, body }) } as unknown as HttpsClient,
      clock: new FakeClock(),
      timeoutMs: 400,
    });
    const asked = reviewer.review({ kind: 'ImageReview', apiVersion: 'imagepolicy.k8s.io/v1alpha1' });
    assert.equal(
      await asked.then(
        () => 'allowed',
        (error: Error) => error.message,
      ),
      verdict,
    );
  });
