// One namespace that asks for too much waits for its own bucket, and for nobody else's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace.ts';

test('a namespace has its burst, then what time gives; another is not touched', () => {
  let now = 0;
  const pace = new Pace({ monotonic: () => now }, { burst: 10, perSecond: 2 });
  assert.equal(pace.take('a', 4), 4);
  assert.equal(pace.isBusy('a'), false);
  assert.equal(pace.take('a', 100), 6);
  assert.equal(pace.isBusy('a'), true);
  assert.equal(pace.take('a', 1), 0);
  assert.equal(pace.take('b', 100), 10);
  now = 1_500;
  assert.equal(pace.take('a', 100), 3);
  pace.giveBack('a', 2);
  assert.equal(pace.take('a', 100), 2);
  pace.giveBack('a', 100);
  assert.equal(pace.take('a', 100), 10);
});

test('namespaces that were quiet are forgotten, busy ones are not', () => {
  let now = 0;
  const pace = new Pace({ monotonic: () => now }, { burst: 10, perSecond: 1 });
  for (let i = 0; i < 999; i++) pace.take(`quiet${i}`, 1);
  now = 5_000;
  assert.equal(pace.take('busy', 10), 10);
  for (let i = 0; i < 1_000; i++) pace.take(`more${i}`, 1);
  assert.equal(pace.take('busy', 10), 0);
});
