// Whether the runtime answered lately is measured: a node does not go NotReady because somebody sets its clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { silentLogger } from '../component-base/logger.ts';
import { createMetrics } from '../component-base/metrics.ts';
import type { RuntimeService } from '../rpc-api/cri.ts';
import { startPleg } from './pod-lifecycle-event-generator.ts';

test('a runtime that listed its containers a moment ago is healthy, whatever the time of day', async () => {
  const clock = new FakeClock();
  // Does not answer after the start.
  const never = new Promise<never>(() => {});
  const runtime = {
    listPodSandbox: () => never,
    listContainers: () => never,
    containerEvents: () => (async function* () {})(),
  };
  const pleg = startPleg(
    { runtime: runtime as unknown as RuntimeService, clock, log: silentLogger, metrics: createMetrics() },
    { changed: () => {}, relisted: () => {} },
  );
  for (const ms of [2 * 24 * 3_600_000, -4 * 24 * 3_600_000]) {
    clock.setBy(ms);
    assert.equal(pleg.healthy().ok, true, pleg.healthy().message);
  }
  clock.advance(180_000);
  assert.equal(pleg.healthy().ok, false);
});
