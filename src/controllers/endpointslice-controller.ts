// Endpoint slices of services with a selector: what proxies and DNS read.
import { endpointslices, nodes, pods, services } from '../api/generated/resources.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { desiredSlices, managedBy, managedByLabel, serviceNameLabel } from './endpoints/desired-slices.ts';
import { isManaged, selectedPods, servicesOf } from './endpoints/service-pods.ts';
import { showSlices } from './endpoints/slice-metrics.ts';
import { writeSlices } from './endpoints/write-slices.ts';

const byService = 'endpointsliceService';
const zoneLabel = 'topology.kubernetes.io/zone';

export const endpointSliceController: Controller = defineController({
  name: 'endpointslice-controller',
  queue: 'endpoint_slice',
  serviceAccount: 'endpointslice-controller',
  for: services,
  owns: [endpointslices],
  reads: [nodes],
  access: [may(['create', 'delete', 'update'], endpointslices)],
  indexes: [
    index(endpointslices, byService, ({ metadata }) => {
      const { [serviceNameLabel]: service, [managedByLabel]: manager } = metadata.labels ?? {};
      return service !== undefined && manager === managedBy ? [keyOf(service, metadata.namespace)] : [];
    }),
  ],
  watches: [watching(pods, (pod, { old }, context) => servicesOf(pod, old, context))],
  start: (context) => showSlices(context, 'endpoint_slice_controller', managedBy),
  async reconcile({ name, namespace }, context) {
    const key = keyOf(name, namespace);
    const service = context.read(services).get(name, namespace);
    // The slices of a service that is gone go by garbage collection.
    if (service === undefined) context.expectations.forget(key);
    if (service === undefined || service.metadata.deletionTimestamp !== undefined || !isManaged(service))
      return undefined;
    if (!context.expectations.satisfied(key)) return undefined;
    const existing = context
      .read(endpointslices)
      .byIndex(byService, key)
      .filter((slice) => slice.metadata.deletionTimestamp === undefined);
    const zoneOf = (node: string): string | undefined =>
      context.read(nodes).get(node)?.metadata.labels?.[zoneLabel];
    await writeSlices(
      context,
      'endpoint_slice_controller',
      key,
      desiredSlices(service, selectedPods(context, service), existing, zoneOf),
    );
    return undefined;
  },
});
