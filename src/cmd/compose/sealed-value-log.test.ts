// Values that can't be opened are named, but not all of a hundred thousand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { sealedValueLog, unopened } from './sealed-value-log.ts';

test('ten values of a resource are named, the others counted, and later ones named again', () => {
  const clock = new FakeClock();
  const lines: Record<string, unknown>[] = [];
  const { told, stop } = sealedValueLog(
    { error: (fields: object) => void lines.push({ ...fields }) },
    clock,
    unopened,
  );
  const error = new Error('no matching key');
  for (let i = 0; i < 100_000; i++) told(`/registry/core/secrets/default/s${i}`, error);
  told('/registry/example.com/things/t', error);
  assert.equal(lines.length, 11);
  assert.deepEqual(lines[9], { key: '/registry/core/secrets/default/s9', error: 'no matching key' });
  assert.deepEqual(lines[10], { key: '/registry/example.com/things/t', error: 'no matching key' });
  clock.advance(10_000);
  assert.deepEqual(lines.slice(11), [{ resource: 'core/secrets', more: 99_990 }]);
  assert.equal(clock.pending, 0);
  told('/registry/core/secrets/default/late', error);
  assert.equal(lines.at(-1)?.['key'], '/registry/core/secrets/default/late');
  clock.advance(10_000);
  assert.equal(lines.length, 13);
  // Nothing is left of a server that ends, and what it did not name is counted.
  for (let i = 0; i < 12; i++) told(`/registry/core/secrets/default/last${i}`, error);
  stop();
  assert.deepEqual(lines.at(-1), { resource: 'core/secrets', more: 2 });
  assert.equal(clock.pending, 0);
});
