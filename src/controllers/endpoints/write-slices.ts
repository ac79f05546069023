// Writes changed endpoint slices, keeping expectations true whatever fails.
import { endpointslices } from '../../api/generated/resources.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { isNamespaceTerminating } from '../workload/namespace-terminating.ts';
import type { SliceChanges } from './slice-changes.ts';
import { type SliceController, sliceChanged } from './slice-metrics.ts';

export async function writeSlices(
  context: ControllerContext,
  controller: SliceController,
  key: string,
  { create, update, remove }: SliceChanges,
): Promise<void> {
  const { expectations, metrics } = context;
  for (const slice of create) {
    expectations.expectCreations(key, 1);
    try {
      await context.write.create(endpointslices, slice);
      sliceChanged(metrics, controller, 'create');
    } catch (error) {
      expectations.creationObserved(key);
      if (isNamespaceTerminating(error)) return;
      throw error;
    }
  }
  for (const slice of update) {
    await context.write.update(endpointslices, slice);
    sliceChanged(metrics, controller, 'update');
  }
  for (const { metadata } of remove) {
    expectations.expectDeletions(key, [metadata.uid ?? '']);
    try {
      await context.write.delete(endpointslices, { name: metadata.name, namespace: metadata.namespace });
      sliceChanged(metrics, controller, 'delete');
    } catch (error) {
      expectations.deletionObserved(key, metadata.uid ?? '');
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}
