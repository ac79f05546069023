// What ends a container that the runtime does not kill.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import type { Cgroups } from '../../os/cgroups.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import type { ObservedContainer } from '../observed-pod.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { killContainer } from './kill-container.ts';
import { PreStopHooks } from './pre-stop-hooks.ts';

interface Stopping {
  readonly cgroups?: Pick<Cgroups, 'kill'>;
  readonly answered: Promise<void>;
  readonly spec?: Partial<PodSpec>;
}

const settled = (): Promise<unknown> => new Promise(setImmediate);

/** A container whose end was asked for, by default with three seconds of grace. */
async function stopping({ cgroups, answered, spec }: Stopping) {
  const clock = new FakeClock();
  const asked: number[] = [];
  const stopContainer = (_: string, seconds: number): Promise<void> => {
    asked.push(seconds);
    return answered;
  };
  const ctx = {
    clock,
    log: silentLogger,
    cgroupRoot: '/node',
    recorder: { event: () => undefined },
    cgroups,
    cri: { runtime: { stopContainer } },
  } as unknown as KubeletContext;
  const pod = aPod({ terminationGracePeriodSeconds: 3, ...spec });
  const container = { id: 'id', name: 'main' } as ObservedContainer;
  const hooks = new PreStopHooks(ctx);
  const kill = (signal: AbortSignal, graceSeconds?: number): Promise<void> =>
    killContainer(ctx, { pod, container, podIP: '', hooks, signal, graceSeconds });
  const interrupted = new AbortController();
  const end = kill(interrupted.signal);
  await settled();
  return { clock, end, pod, asked, kill, interrupted };
}

test('a stop that has no answer ten seconds after the grace period kills all of the cgroup; one that has, nothing', async () => {
  for (const answers of [false, true]) {
    const stopped = Promise.withResolvers<void>();
    if (answers) stopped.resolve();
    const killed: string[] = [];
    const kill = async (name: string): Promise<void> => {
      killed.push(name);
      stopped.resolve();
    };
    const { clock, end, pod } = await stopping({ cgroups: { kill }, answered: stopped.promise });
    clock.advance(12_999);
    assert.deepEqual(killed, []);
    clock.advance(1);
    await end;
    assert.deepEqual(killed, answers ? [] : [`/node/kubepods/besteffort/pod${pod.metadata.uid}/id`]);
    assert.equal(clock.pending, 0);
  }
});

test('a node without cgroups leaves a stop to its runtime, and says nothing of killing', async () => {
  const stopped = Promise.withResolvers<void>();
  const { clock, end } = await stopping({ answered: stopped.promise });
  assert.equal(clock.pending, 0);
  stopped.resolve();
  await end;
});

test('the longest grace period is granted; a preStop that sleeps as long ends with a shorter one', async () => {
  const most = 2n ** 63n - 1n;
  const patient = await stopping({
    cgroups: { kill: () => assert.fail('nobody waited so long') },
    answered: Promise.resolve(),
    spec: { terminationGracePeriodSeconds: most },
  });
  await patient.end;
  assert.deepEqual(patient.asked, [Number(most)]);
  const preStop = { sleep: { seconds: most } };
  const containers = [aContainer('main', { lifecycle: { preStop } })];
  const sleeping = await stopping({ answered: Promise.resolve(), spec: { containers } });
  assert.deepEqual(sleeping.asked, []);
  sleeping.clock.advance(3000);
  await sleeping.end;
  assert.deepEqual(sleeping.asked, [1]);
});

test('whoever comes with a shorter grace waits for the hook that is under way, and does not begin it anew', async () => {
  const preStop = { sleep: { seconds: 60 } };
  const containers = [aContainer('main', { lifecycle: { preStop } })];
  const spec = { containers, terminationGracePeriodSeconds: 100 };
  const { clock, end, asked, kill, interrupted } = await stopping({ answered: Promise.resolve(), spec });
  clock.advance(58_000);
  interrupted.abort();
  await assert.rejects(end, { name: 'AbortError' });
  assert.deepEqual(asked, []);
  const sooner = kill(new AbortController().signal, 10);
  await settled();
  clock.advance(1999);
  await settled();
  assert.deepEqual(asked, []);
  clock.advance(1);
  await sooner;
  assert.deepEqual(asked, [8]);
  assert.equal(clock.pending, 0);
});
