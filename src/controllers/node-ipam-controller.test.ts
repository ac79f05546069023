// The controller of pod addresses when the server does not say whether it stored a node's block.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import type { ControllerContext } from '../controller-runtime/define-controller.ts';
import { nodeIpamController } from './node-ipam-controller.ts';

/** Nodes that show no block yet; each patch fails with the next of `failures`, while there are any. */
function controllerOf(failures: unknown[]) {
  const given: [node: string, block: unknown][] = [];
  const context = {
    read: () => ({ get: (name: string): Node => ({ metadata: { name }, spec: {} }), list: () => [] }),
    events: { event: () => undefined },
    write: {
      patch: (_: unknown, { name }: { name: string }, { body }: { body: Node }) => {
        given.push([name, body.spec?.podCIDR]);
        const failure = failures.shift();
        return failure === undefined ? Promise.resolve() : Promise.reject(failure as Error);
      },
    },
  } as unknown as ControllerContext;
  const { definition } = nodeIpamController({ clusterCIDRs: ['10.1.0.0/16'] });
  assert.ok('reconcile' in definition);
  definition.start?.(context);
  const reconcile = (name: string): Promise<unknown> => definition.reconcile({ name }, context);
  return { given, reconcile };
}

for (const [what, failure] of [
  ['no answer', new StatusError(504, 'Timeout', 'no answer')],
  ['an answer that tells of no refusal', new StatusError(500, 'InternalError', 'it broke')],
  ['a connection that broke off', new Error('socket hang up')],
] as const)
  test(`after ${what} a block is nobody else's, and written again`, async () => {
    const { given, reconcile } = controllerOf([failure]);
    await assert.rejects(reconcile('a'));
    await reconcile('b');
    await reconcile('a');
    await reconcile('a');
    assert.deepEqual(given, [
      ['a', '10.1.0.0/24'],
      ['b', '10.1.1.0/24'],
      ['a', '10.1.0.0/24'],
    ]);
  });

test('a block that was refused is free again', async () => {
  const { given, reconcile } = controllerOf([new StatusError(409, 'Conflict', 'another uid')]);
  await assert.rejects(reconcile('a'));
  // The last to be given again: packets to it may still be under way.
  for (let i = 0; i < 256; i++) await reconcile(`n${i}`);
  assert.ok(given.slice(1).some(([, block]) => block === '10.1.0.0/24'));
});

test('a block in doubt stays so when it is written again and refused: the first write may have been stored', async () => {
  const busy = new StatusError(429, 'TooManyRequests', 'later');
  const { given, reconcile } = controllerOf([new StatusError(504, 'Timeout', 'no answer'), busy, busy]);
  for (let i = 0; i < 3; i++) await assert.rejects(reconcile('a'));
  for (let i = 1; i < 256; i++) await reconcile(`n${i}`);
  await assert.rejects(reconcile('b'), /no remaining CIDRs/, 'every block but that one is given');
  await reconcile('a');
  const ofA = given.filter(([node]) => node === 'a').map(([, block]) => block);
  assert.deepEqual(new Set(ofA), new Set(['10.1.0.0/24']));
  assert.equal(ofA.length, 4);
  assert.equal(given.filter(([, block]) => block === '10.1.0.0/24').length, 4, "nobody else's");
});
