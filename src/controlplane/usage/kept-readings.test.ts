// When kubelets are asked, and what becomes of those that are silent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { usageOfNode } from '../../registry/metrics/usage-points.ts';
import { KeptReadings } from './kept-readings.ts';

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

/** Kubelets whose node uses half a processor; `silent` ones do not answer. */
function kubelets(...names: string[]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const silent = new Set<string>();
  const node = (name: string, labels = {}) => ({ metadata: { name, labels } });
  const nodes = [...names.map((name) => node(name)), node('paper', { 'porthole.dev/simulated': 'true' })];
  const readings = new KeptReadings({
    live: { list: () => nodes } as unknown as LiveObjects,
    clock,
    log: silentLogger,
    read: ({ metadata }, signal) => {
      const { name } = metadata as { name: string };
      asked.push(name);
      if (silent.has(name))
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      const cpu = clock.monotonic() / 2000;
      return Promise.resolve(`node_cpu_usage_seconds_total ${cpu}\nnode_memory_working_set_bytes 5\n`);
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(500);
      await settled();
    }
  };
  const used = (name: string): number | undefined => usageOfNode(readings.of(name))?.cpuNanoCores;
  return { readings, clock, asked, silent, pass, used };
}

test('nobody is asked until somebody wants to know; the first one waits for two readings', async () => {
  const { readings, asked, pass, used } = kubelets('a', 'b');
  await pass(60_000);
  assert.deepEqual(asked, []);
  let isReady = false;
  void readings.ready().then(() => {
    isReady = true;
  });
  await pass(1_500);
  assert.deepEqual([asked.length, isReady], [2, false]);
  await pass(500);
  assert.deepEqual([asked, isReady], [['a', 'b', 'a', 'b'], true]);
  assert.deepEqual([used('a'), used('b'), used('paper')], [500_000_000, 500_000_000, undefined]);
  await pass(15_000);
  assert.equal(asked.length, 6);
  readings.close();
  await pass(60_000);
  assert.equal(asked.length, 6);
});

test('five minutes after the last question nobody is asked any more, and nothing is kept', async () => {
  const { readings, clock, asked, pass, used } = kubelets('a');
  void readings.ready();
  await pass(200_000);
  await readings.ready();
  await pass(280_000);
  assert.equal(used('a'), 500_000_000);
  await pass(60_000);
  const before = asked.length;
  assert.deepEqual([used('a'), clock.pending], [undefined, 0]);
  await pass(60_000);
  assert.equal(asked.length, before);
  void readings.ready();
  await pass(2_000);
  assert.equal(asked.length, before + 2);
  readings.close();
});

test('a silent kubelet holds up the first answer for a while, others not at all, and is told when it has answered twice', async () => {
  const { readings, silent, pass, used } = kubelets('a', 'b');
  silent.add('b');
  let isReady = false;
  void readings.ready().then(() => {
    isReady = true;
  });
  await pass(15_000);
  assert.equal(isReady, true);
  await pass(15_000);
  assert.deepEqual([used('a'), used('b')], [500_000_000, undefined]);
  silent.delete('b');
  await pass(15_000);
  assert.equal(used('b'), undefined);
  await pass(15_000);
  assert.equal(used('b'), 500_000_000);
  silent.add('b');
  await pass(30_000);
  assert.equal(used('b'), undefined);
  readings.close();
});

test('without a node that could be asked nobody waits', async () => {
  const { readings, clock } = kubelets();
  await readings.ready();
  assert.equal(clock.pending, 0);
});
