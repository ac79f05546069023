// Names that nodes may have, and the one that the next gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextNodeName, parseNodeName } from './node-name.ts';

test('a node name is a label, and none that porthole logs takes for something else', () => {
  for (const name of ['a', 'linux-2', '0', 'x'.repeat(63)]) assert.equal(parseNodeName(name), name);
  const logs = ['server', 'registry', 'registry-for-nodes'];
  for (const name of ['', 'A', '-a', 'a-', 'a.b', '../a', 'a b', 'x'.repeat(64), ...logs])
    assert.throws(() => parseNodeName(name), /use at most 63 lower-case letters/, name);
});

test('the next node has the lowest number that is free', () => {
  const nodes = [{ name: 'linux-1' }, { name: 'linux-3' }, { name: 'windows-1' }];
  assert.equal(nextNodeName('linux', nodes), 'linux-2');
  assert.equal(nextNodeName('windows', nodes), 'windows-2');
});
