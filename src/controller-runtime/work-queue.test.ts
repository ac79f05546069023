// Order, exclusivity and delays of the work queue.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../base/clock.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { queueMetrics } from './queue-metrics.ts';
import { WorkQueue } from './work-queue.ts';

function manualClock(): Clock & { advance(ms: number): void } {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    async sleep() {},
    timer(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((t) => t !== timer);
      };
    },
    advance(ms) {
      now += ms;
      const due = timers.filter((t) => t.at <= now).sort((a, b) => a.at - b.at);
      timers = timers.filter((t) => t.at > now);
      for (const timer of due) timer.run();
    },
  };
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function recording(concurrency: number) {
  const clock = manualClock();
  const metrics = createMetrics();
  const started: string[] = [];
  const finish: (() => void)[] = [];
  const queue = new WorkQueue({
    clock,
    concurrency,
    metrics: queueMetrics(metrics, 'q'),
    process: (key) => {
      started.push(key);
      return new Promise<void>((resolve) => finish.push(resolve));
    },
  });
  return { clock, metrics, queue, started, finish };
}

describe('WorkQueue', () => {
  it('works on a key once, however often it was added', async () => {
    const { queue, started } = recording(1);
    for (const key of ['a', 'b', 'a', 'b', 'b']) queue.add(key);
    await settle();
    assert.deepEqual([started, queue.depth], [['a'], 2]);
  });

  it('never works on one key twice at a time, and looks again after a change meanwhile', async () => {
    const { queue, started, finish } = recording(5);
    queue.add('a');
    await settle();
    queue.add('a');
    queue.add('b');
    await settle();
    assert.deepEqual(started, ['a', 'b']);
    finish[0]!();
    await settle();
    assert.deepEqual(started, ['a', 'b', 'a']);
  });

  it('doubles the delay with each failure until the key is forgotten', async () => {
    const { queue, started, finish, clock } = recording(1);
    const delays: number[] = [];
    for (let i = 0; i < 4; i++) {
      queue.addRateLimited('a');
      let waited = 0;
      while (started.length === i) {
        clock.advance(1);
        waited += 1;
        await settle();
      }
      delays.push(waited);
      finish[i]!();
      await settle();
      if (i === 2) queue.forget('a');
    }
    assert.deepEqual(delays, [5, 10, 20, 5]);
  });

  it('takes the earliest of several delays', async () => {
    const { queue, started, clock } = recording(1);
    queue.addAfter('a', 100);
    queue.addAfter('a', 10);
    queue.addAfter('a', 50);
    clock.advance(10);
    await settle();
    assert.deepEqual(started, ['a']);
    clock.advance(1000);
    await settle();
    assert.equal(queue.depth, 0);
  });

  it('tells what waits, how long it did, what is worked on and what was tried again', async () => {
    const { clock, metrics, queue, finish } = recording(1);
    const told = async (): Promise<readonly string[]> =>
      (await metrics.text()).text
        .split('\n')
        .filter((line) => /^workqueue_[a-z_]*\{name="q"\}/.test(line))
        .map((line) => line.replace('workqueue_', '').replace('{name="q"}', ''))
        .sort();
    for (const key of ['a', 'b', 'b']) queue.add(key);
    await settle();
    clock.advance(2_000);
    queue.add('a');
    queue.add('a');
    assert.deepEqual(await told(), [
      'adds_total 3',
      'depth 2',
      'longest_running_processor_seconds 2',
      'queue_duration_seconds_count 1',
      'queue_duration_seconds_sum 0',
      'retries_total 0',
      'unfinished_work_seconds 2',
      'work_duration_seconds_count 0',
      'work_duration_seconds_sum 0',
    ]);
    clock.advance(1_000);
    finish[0]!();
    await settle();
    queue.addRateLimited('c');
    assert.deepEqual(await told(), [
      'adds_total 3',
      'depth 1',
      'longest_running_processor_seconds 0',
      'queue_duration_seconds_count 2',
      'queue_duration_seconds_sum 3',
      'retries_total 1',
      'unfinished_work_seconds 0',
      'work_duration_seconds_count 1',
      'work_duration_seconds_sum 3',
    ]);
    const stopping = queue.stop();
    finish[1]!();
    await stopping;
    assert.ok(!(await told()).some((line) => line.startsWith('depth')), 'one that ended is asked no more');
  });

  it('stops when the last key is done, and takes no more', async () => {
    const { queue, started, finish } = recording(1);
    queue.add('a');
    queue.add('b');
    await settle();
    let stopped = false;
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    await settle();
    assert.equal(stopped, false);
    finish[0]!();
    await stopping;
    queue.add('c');
    await settle();
    assert.deepEqual(started, ['a']);
  });
});
