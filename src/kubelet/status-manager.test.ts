// Statuses of pods are what the kubelet says, also after another wrote over them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Client } from '../client/client.ts';
import { silentLogger } from '../component-base/logger.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { createStatusManager } from './status-manager.ts';

const statusOf = (ready: 'True' | 'False', more: Partial<PodStatus> = {}): PodStatus =>
  ({ phase: 'Running', conditions: [{ type: 'Ready', status: ready }], ...more }) as PodStatus;
const podWith = (status: PodStatus | undefined): Pod =>
  ({ metadata: { name: 'p', namespace: 'a', uid: 'u' }, spec: { containers: [] }, status }) as unknown as Pod;

const managerOf = (client: Client, metrics = createMetrics()) =>
  createStatusManager({
    client,
    clock: new FakeClock(),
    log: silentLogger,
    metrics,
    changed: () => undefined,
  });

test('a status that another wrote over is written again; our own, coming back, and what others add are not', async () => {
  const written: PodStatus[] = [];
  const patch = async (_r: unknown, _k: unknown, { body }: { body: unknown }): Promise<void> =>
    void written.push((body as { status: PodStatus }).status);
  const client = { patch } as unknown as Client;
  const manager = managerOf(client);
  manager.seen(podWith(statusOf('False')));
  manager.set(podWith(undefined), statusOf('True'));
  await manager.written('u');
  const gate = { type: 'example.com/gate', status: 'False' } as const;
  const more = { conditions: [gate, ...statusOf('True').conditions!] } as Partial<PodStatus>;
  for (const shown of [statusOf('True'), statusOf('True', more)]) manager.seen(podWith(shown));
  await manager.written('u');
  assert.equal(written.length, 1);
  for (const shown of [statusOf('False'), statusOf('True', { phase: 'Failed' }), undefined]) {
    manager.seen(podWith(shown));
    await manager.written('u');
    assert.equal(written.at(-1)?.conditions?.[0]?.status, 'True');
  }
  assert.equal(written.length, 4);
});

test('what was told of containers is taken back when the pod is rejected', async () => {
  const written: object[] = [];
  const patch = async (_r: unknown, _k: unknown, { body }: { body: unknown }): Promise<void> =>
    void written.push((body as { status: object }).status);
  const manager = managerOf({ patch } as unknown as Client);
  const rejected = { phase: 'Failed', reason: 'OutOfcpu', message: 'm' } as const;
  manager.set(podWith({ phase: 'Pending', containerStatuses: [] }), rejected);
  await manager.written('u');
  assert.deepEqual(written, [{ ...rejected, containerStatuses: null, initContainerStatuses: null }]);
});

test("a pod that is gone, or whose name is another one's, gets no status any more; a status that is refused is not sent twice", async () => {
  for (const [code, reason, asked] of [
    [404, 'NotFound', 1],
    [409, 'Conflict', 1],
    [422, 'Invalid', 2],
  ] as const) {
    let patches = 0;
    const patch = async (): Promise<never> => {
      patches += 1;
      throw new StatusError(code, reason, 'no');
    };
    const client = { patch } as unknown as Client;
    const manager = managerOf(client);
    for (const ready of ['True', 'True', 'False'] as const) {
      manager.set(podWith(undefined), statusOf(ready));
      await manager.written('u');
    }
    assert.equal(patches, asked, reason);
    manager.seen(podWith(statusOf('True')));
    await manager.written('u');
    assert.equal(patches, reason === 'Invalid' ? 3 : 1, reason);
  }
});

test('it is counted how long statuses take to be written, once for what was written at once', async () => {
  const metrics = createMetrics();
  const manager = managerOf({ patch: async () => undefined } as unknown as Client, metrics);
  for (const ready of ['True', 'False'] as const) manager.set(podWith(undefined), statusOf(ready));
  await manager.written('u');
  assert.match((await metrics.text()).text, /^kubelet_pod_status_sync_duration_seconds_count 1$/m);
});

test('who waits for a status when the agent leaves is told that it is not written', async () => {
  const asked = Promise.withResolvers<void>();
  const patch = async (): Promise<never> => {
    asked.resolve();
    throw new StatusError(500, 'InternalError', 'no');
  };
  const manager = managerOf({ patch } as unknown as Client);
  manager.set(podWith(undefined), statusOf('True'));
  await asked.promise;
  const waits = manager.written('u');
  manager.stop();
  await assert.rejects(waits, { name: 'AbortError' });
  manager.set(podWith(undefined), statusOf('False'));
  await assert.rejects(manager.written('u'), { name: 'AbortError' });
  await manager.written('another');
});
