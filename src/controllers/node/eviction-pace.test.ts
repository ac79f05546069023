// The bucket of one token.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvictionPace } from './eviction-pace.ts';

const start = 1_000_000;

describe('EvictionPace', () => {
  it('gives one at once, then one each ten seconds, and none for having waited', () => {
    const pace = new EvictionPace(0.1, start);
    assert.equal(pace.take(start), 0);
    assert.equal(pace.take(start + 1), 9_999);
    assert.equal(pace.take(start + 60_000), 0);
    assert.equal(pace.take(start + 60_000), 10_000);
  });
  it('gives none at a rate of nothing, and begins with a wait after it', () => {
    const pace = new EvictionPace(0.1, start);
    assert.equal(pace.setRate(0, start), true);
    assert.equal(pace.setRate(0, start), false);
    assert.equal(pace.take(start + 1e9), Number.POSITIVE_INFINITY);
    assert.equal(pace.setRate(0.1, start + 5_000), true);
    assert.equal(pace.take(start + 5_000), 10_000);
    assert.equal(new EvictionPace(0, start).take(start), Number.POSITIVE_INFINITY);
  });
  it('keeps its token when the rate changes, and gives none for the change', () => {
    const pace = new EvictionPace(0.1, start);
    pace.setRate(0.01, start);
    assert.equal(pace.take(start), 0);
    pace.setRate(0.1, start + 1_000);
    assert.equal(pace.take(start + 1_000), 10_000);
  });
});
