// When a program has started its code is kept, and only then V8 gets other settings: code that was compiled under those no start takes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleOnceStarted } from './keep-compiled.ts';

test('five seconds after the start the code is kept, then the process settled', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const done: string[] = [];
  Object.assign(globalThis, { PORTHOLE_KEEP_COMPILED: () => done.push('kept') });
  t.after(() => Reflect.deleteProperty(globalThis, 'PORTHOLE_KEEP_COMPILED'));
  settleOnceStarted(() => done.push('settled'));
  t.mock.timers.tick(4_999);
  assert.deepEqual(done, []);
  t.mock.timers.tick(1);
  assert.deepEqual(done, ['kept', 'settled']);
});

test('in the sources, where there is no script, it is settled all the same', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let settled = 0;
  settleOnceStarted(() => settled++);
  t.mock.timers.tick(5_000);
  assert.equal(settled, 1);
});
