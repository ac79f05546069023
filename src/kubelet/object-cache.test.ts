// ConfigMaps and Secrets of pods: what happens when the server does not give them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Client } from '../client/client.ts';
import { silentLogger } from '../component-base/logger.ts';
import { createObjectCache } from './object-cache.ts';

const refused = (): StatusError =>
  new StatusError(403, 'Forbidden', 'configmaps "kube-root-ca.crt" is forbidden: no relationship found');

const pod = {
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: {
    containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'kube-root-ca.crt' } }] }],
  },
} as unknown as Pod;

test('R20: a refusal to read an object again after its watch ended reaches who asks for it, and nobody else', async () => {
  let reads = 0;
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const reread = Promise.withResolvers<void>();
  const client = {
    get: async () => {
      reads++;
      if (reads === 1) return { metadata: { name: 'kube-root-ca.crt', resourceVersion: '5' } };
      reread.resolve();
      throw refused();
    },
    async *watch() {
      yield { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };
    },
  } as unknown as Client;
  const cache = createObjectCache({ client, clock: new FakeClock(), log: silentLogger, changed: () => {} });
  try {
    cache.uses(pod);
    await reread.promise;
    // Node tells of a rejection that nobody handles after the microtasks of this turn.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(unhandled, []);
    await assert.rejects(cache.configMap('default', 'kube-root-ca.crt'), /no relationship found/);
  } finally {
    process.off('unhandledRejection', note);
    cache.stop();
  }
});
