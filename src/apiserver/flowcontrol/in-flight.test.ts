// The most requests that ran at once in each second.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { inFlight } from './in-flight.ts';

test('the most requests of the last second are told by kind', async () => {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const running = inFlight(metrics, clock);
  const told = async (): Promise<string[]> =>
    [...(await metrics.text()).text.matchAll(/^apiserver_current_inflight_requests\{(.*)\} (\d+)$/gm)].map(
      ([, labels, value]) => `${labels} ${value}`,
    );
  const says = async (reads: number, writes: number): Promise<void> =>
    assert.deepEqual(await told(), [`request_kind="readOnly" ${reads}`, `request_kind="mutating" ${writes}`]);
  await says(0, 0);
  const ends = ['get', 'list', 'create', 'watch'].map((verb) => running.begins(verb));
  ends[0]!();
  ends[2]!();
  await says(0, 0);
  /** As the request for the metrics does. */
  const ask = (): void => running.begins('get')();
  clock.advance(1_000);
  ask();
  await says(3, 1);
  clock.advance(1_000);
  ask();
  await says(3, 0);
  clock.advance(5_000);
  ask();
  await says(2, 0);
  ends[1]!();
  ends[3]!();
  clock.advance(5_000);
  ask();
  await says(0, 0);
});
