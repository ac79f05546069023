// Metrics of looks for keys follow the configuration that holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { keyFetches } from './key-fetches.ts';
import { reloadMetrics } from './reload-metrics.ts';

test('a look for keys that ends after another configuration was taken is told no more', async () => {
  const metrics = createMetrics();
  const fetches = keyFetches(reloadMetrics(metrics), { clock: new FakeClock(), serverId: 's' });
  const lines = async (): Promise<number> => {
    const { text } = await metrics.text();
    return text.split('\n').filter((line) => line.includes('_jwks_fetch_last_key_set_info{')).length;
  };
  const [a, b] = ['https://a.example.com', 'https://b.example.com'];
  const before = fetches.begin();
  fetches.keep(before, [a]);
  before(a, '{"keys":[1]}');
  assert.equal(await lines(), 1);
  const after = fetches.begin();
  // What was not taken tells nothing either.
  after(b, '{"keys":[2]}');
  assert.equal(await lines(), 1);
  fetches.keep(after, [b]);
  assert.equal(await lines(), 0);
  before(a, '{"keys":[3]}');
  before(b, '{"keys":[3]}');
  assert.equal(await lines(), 0);
  after(b, '{"keys":[2]}');
  assert.equal(await lines(), 1);
  fetches.stop();
  assert.equal(await lines(), 0);
});
