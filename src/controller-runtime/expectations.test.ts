// When a controller may trust its view again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Expectations } from './expectations.ts';

function at(): { now: number; expectations: Expectations } {
  const state = { now: 0 } as { now: number; expectations: Expectations };
  state.expectations = new Expectations({
    now: () => state.now,
    monotonic: () => state.now,
    sleep: async () => {},
    timer: () => () => {},
  });
  return state;
}

describe('Expectations', () => {
  it('are satisfied when all creations and those very deletions were seen', () => {
    const { expectations } = at();
    assert.ok(expectations.satisfied('k'));
    expectations.expectCreations('k', 2);
    expectations.expectDeletions('k', ['u1']);
    expectations.creationObserved('k');
    expectations.deletionObserved('k', 'other');
    expectations.creationObserved('k');
    assert.ok(!expectations.satisfied('k'));
    expectations.deletionObserved('k', 'u1');
    assert.ok(expectations.satisfied('k'));
  });
  it('expire after five minutes', () => {
    const state = at();
    state.expectations.expectCreations('k', 1);
    state.now = 5 * 60_000;
    assert.ok(!state.expectations.satisfied('k'));
    state.now += 1;
    assert.ok(state.expectations.satisfied('k'));
  });
});
