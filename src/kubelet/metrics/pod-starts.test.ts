// Each pod starts once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { aPod } from '../testing/observed-builder.ts';
import { PodStarts } from './pod-starts.ts';

const shown = (phase: string): Pod => ({ ...aPod(), status: { phase } });

test('a pod that the API still shows as Pending after it began is not counted again', async () => {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const starts = new PodStarts(metrics, clock);
  const counted = async (): Promise<string | undefined> =>
    /_seconds_(count.*)$/m.exec((await metrics.text()).text)?.[1];
  starts.seen(shown('Pending'));
  clock.advance(2000);
  starts.became(aPod(), { phase: 'Running' });
  starts.seen(shown('Pending'));
  clock.advance(60_000);
  starts.became(aPod(), { phase: 'Running' });
  assert.equal(await counted(), 'count 1');
  assert.match((await metrics.text()).text, /_seconds_sum 2$/m);
  // Nothing is kept of what is gone.
  starts.forget('uid-1');
  starts.seen(shown('Pending'));
  starts.became(aPod(), { phase: 'Running' });
  assert.equal(await counted(), 'count 2');
  starts.forget('uid-1');
  starts.seen(shown('Running'));
  starts.became(aPod(), { phase: 'Running' });
  assert.equal(await counted(), 'count 2', 'it ran before the agent did');
});
