// The volume binder when the server does not say whether a claim is still there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '../api/generated/types/core-v1.ts';
import { StatusError } from '../apimachinery/errors.ts';
import type { ControllerContext } from '../controller-runtime/define-controller.ts';
import { persistentVolumeBinderController } from './persistentvolume-binder-controller.ts';

const bound: PersistentVolume = {
  metadata: { name: 'v', resourceVersion: '5' },
  spec: { claimRef: { name: 'c', namespace: 'n', uid: 'u' } },
  status: { phase: 'Bound' },
};

/** Reconciles the volume with an informer that does not show its claim; returns the phases that were written. */
async function reconcileVolume(answer: StatusError): Promise<(string | undefined)[]> {
  const phases: (string | undefined)[] = [];
  const context = {
    read: () => ({ get: (name: string) => (name === 'v' ? bound : undefined) }),
    write: {
      get: () => Promise.reject(answer),
      update: async (_: unknown, { status }: PersistentVolume) => void phases.push(status?.phase),
    },
  } as unknown as ControllerContext;
  const { definition } = persistentVolumeBinderController;
  assert.ok('reconcile' in definition);
  await definition.reconcile({ name: 'v' }, context).catch((error: unknown) => assert.equal(error, answer));
  return phases;
}

test('a volume is given up when its claim is gone, not when the server cannot say so', async () => {
  assert.deepEqual(await reconcileVolume(new StatusError(404, 'NotFound', 'not found')), ['Released']);
  for (const [code, reason] of [
    [429, 'TooManyRequests'],
    [403, 'Forbidden'],
    [504, 'Timeout'],
  ] as const)
    assert.deepEqual(await reconcileVolume(new StatusError(code, reason, 'no answer')), [], reason);
});
