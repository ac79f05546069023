// What ends a container that the runtime does not kill.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import type { ObservedContainer } from '../observed-pod.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { killContainer } from './kill-container.ts';

test('R4: a stop that has no answer ten seconds after the grace period kills all of the cgroup; one that has, nothing', async () => {
  for (const answers of [false, true]) {
    const clock = new FakeClock();
    const stopped = Promise.withResolvers<void>();
    const killed: string[] = [];
    const ctx = {
      clock,
      log: silentLogger,
      cgroupRoot: '/node',
      recorder: { event: () => undefined },
      cgroups: {
        kill: async (name: string) => {
          killed.push(name);
          stopped.resolve();
        },
      },
      cri: { runtime: { stopContainer: () => (answers ? Promise.resolve() : stopped.promise) } },
    } as unknown as KubeletContext;
    const pod = aPod({ containers: [aContainer('main')] });
    const container = { id: 'id', name: 'main' } as ObservedContainer;
    const end = killContainer(ctx, { pod, container, graceSeconds: 3, podIP: '' });
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    clock.advance(12_999);
    assert.deepEqual(killed, []);
    clock.advance(1);
    await end;
    assert.deepEqual(killed, answers ? [] : [`/node/kubepods/besteffort/pod${pod.metadata.uid}/id`]);
    assert.equal(clock.pending, 0);
  }
});
