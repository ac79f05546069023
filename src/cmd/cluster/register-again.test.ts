// Which agents `up` starts again because their Node is gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentsWithoutNode } from './register-again.ts';

test('only an agent whose Node is gone is started again', () => {
  const running = ['server', 'agent linux-1', 'agent windows-1'].map((role, i) => ({
    role,
    pid: i + 1,
    startTicks: '1',
  }));
  assert.deepEqual(
    agentsWithoutNode(running, new Set(['windows-1', 'server'])).map(({ role }) => role),
    ['agent linux-1'],
  );
  assert.deepEqual(agentsWithoutNode(running, new Set(['windows-1', 'linux-1'])), []);
});
