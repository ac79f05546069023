// How what took several times is told: what came one after the other together, of what went on at once the slowest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Latencies } from './latencies.ts';

test('one after the other adds up, at the same time the slowest counts', () => {
  const latencies = new Latencies();
  for (const ms of [300, 200]) {
    latencies.took('mutating-webhook', ms);
    latencies.took('validating-webhook', ms);
    latencies.took('authorization', ms / 1000);
  }
  latencies.took('etcd', 0);
  const prefix = 'apiserver.latency.k8s.io/';
  assert.deepEqual(Object.fromEntries(latencies.annotations(1_500)), {
    [`${prefix}mutating-webhook`]: '500ms',
    [`${prefix}validating-webhook`]: '300ms',
    [`${prefix}authorization`]: '300µs',
    [`${prefix}total`]: '1.5s',
  });
  assert.deepEqual([...latencies.annotations(500)], []);
  assert.deepEqual([...new Latencies().annotations(1_500)], []);
});
