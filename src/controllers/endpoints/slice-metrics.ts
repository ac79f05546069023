// What the controllers of endpoint slices tell of them, by upstream's names.
import { endpointslices } from '../../api/generated/resources.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { managedByLabel } from './desired-slices.ts';

export type SliceController = 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller';

const changesHelp = 'Number of EndpointSlice changes';
const slicesHelp = 'Number of EndpointSlices';

const declared = declareMetrics((metrics) => ({
  endpoint_slice_controller: {
    changes: metrics.counter('endpoint_slice_controller_changes', changesHelp, ['operation']),
    slices: metrics.readGauge('endpoint_slice_controller_num_endpoint_slices', slicesHelp, []),
  },
  endpoint_slice_mirroring_controller: {
    changes: metrics.counter('endpoint_slice_mirroring_controller_changes', changesHelp, ['operation']),
    slices: metrics.readGauge('endpoint_slice_mirroring_controller_num_endpoint_slices', slicesHelp, []),
  },
}));

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
