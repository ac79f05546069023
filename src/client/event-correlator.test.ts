// Spam, similar and equal events.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventCorrelator, type EventFacts } from './event-correlator.ts';

const facts = (message: string, about = 'Pod/n/a'): EventFacts => ({
  source: 'kubelet',
  about,
  type: 'Warning',
  reason: 'BackOff',
  message,
});

describe('EventCorrelator', () => {
  it('counts equal events', () => {
    const correlator = new EventCorrelator();
    assert.equal(correlator.correlate(facts('x'), 0).action, 'create');
    const second = correlator.correlate(facts('x'), 10);
    assert.deepEqual(second.action === 'count' && second.count, 2);
  });
  it('combines the tenth similar event in ten minutes', () => {
    const correlator = new EventCorrelator();
    const all = Array.from({ length: 11 }, (_, i) => correlator.correlate(facts(`m${i}`), i));
    assert.deepEqual(all.map((c) => (c.action === 'drop' ? 'drop' : `${c.action} ${c.message}`)).slice(8), [
      'create m8',
      'create (combined from similar events): m9',
      'count (combined from similar events): m10',
    ]);
  });
  it('drops what one object sends beyond 25, and gives back one in five minutes', () => {
    const correlator = new EventCorrelator();
    for (let i = 0; i < 25; i++) correlator.correlate(facts('x'), 0);
    assert.equal(correlator.correlate(facts('x'), 0).action, 'drop');
    assert.equal(correlator.correlate(facts('x', 'Pod/n/b'), 0).action, 'create');
    assert.equal(correlator.correlate(facts('x'), 300_001).action, 'count');
    assert.equal(correlator.correlate(facts('x'), 300_001).action, 'drop');
  });
});
