// What the controllers of endpoint slices tell of them, by upstream's names.
import { endpointslices } from '../../api/generated/resources.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { managedByLabel } from './desired-slices.ts';

export type SliceController = 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller';

const declared = declareMetrics((metrics) => {
  const of = (controller: SliceController) => ({
    changes: metrics.counter(`${controller}_changes`, 'Number of EndpointSlice changes', ['operation']),
    slices: metrics.readGauge(`${controller}_num_endpoint_slices`, 'Number of EndpointSlices', []),
  });
  return {
    endpoint_slice_controller: of('endpoint_slice_controller'),
    endpoint_slice_mirroring_controller: of('endpoint_slice_mirroring_controller'),
  };
});

export const sliceChanged = (
  metrics: MetricsRegistry,
  controller: SliceController,
  operation: 'create' | 'update' | 'delete',
): void => declared(metrics)[controller].changes.inc({ operation });

/** Asked from now on; the result ends that. */
export function showSlices(
  { metrics, read }: Pick<ControllerContext, 'metrics' | 'read'>,
  controller: SliceController,
  manager: string,
): () => void {
  const isIts = ({ metadata }: EndpointSlice): boolean => metadata.labels?.[managedByLabel] === manager;
  const count = (): number => read(endpointslices).list().filter(isIts).length;
  return declared(metrics)[controller].slices.add(() => [[{}, count()]]);
}
