// When `up` believes that a node is Ready.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/generated/types/core-v1.ts';
import { untilReady } from './wait-ready.ts';

const node = (ready: boolean): Node =>
  ({
    metadata: { name: 'linux-1' },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', message: 'starting' }] },
  }) as unknown as Node;

test('a Node that is still Ready of an agent that ended is not believed before the agent answers', async () => {
  const asked: string[] = [];
  const answers = async (): Promise<boolean> => {
    asked.push('agent');
    if (asked.length === 1) throw new Error('connect ECONNREFUSED');
    return asked.length > 2;
  };
  const lists: Node[] = [node(false)];
  await untilReady(
    { list: () => [lists.shift() ?? node(true)], changed: () => Promise.resolve() },
    [{ name: 'linux-1', check: () => undefined, log: '/l', answers }],
    () => undefined,
  );
  assert.equal(asked.length, 3, 'it is asked once its Node is Ready, until it answers');
});

test('an agent that does not stay ends the wait, whatever its Node says', async () => {
  let looks = 0;
  const check = (): void => {
    if (++looks === 3) throw new Error('agent linux-1 does not stay');
  };
  await assert.rejects(
    untilReady(
      { list: () => [node(true)], changed: () => new Promise(() => undefined) },
      [{ name: 'linux-1', check, log: '/l', answers: async () => false }],
      () => undefined,
    ),
    /does not stay/,
  );
});
