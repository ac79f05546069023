// Mirrors Endpoints that somebody keeps by hand into endpoint slices: what proxies and DNS read.
import { endpoints, endpointslices, services } from '../api/generated/resources.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { managedByLabel, serviceNameLabel } from './endpoints/desired-slices.ts';
import { isMirrored, mirroredSlices, mirroringManager } from './endpoints/mirrored-slices.ts';
import { showSlices } from './endpoints/slice-metrics.ts';
import { writeSlices } from './endpoints/write-slices.ts';

const byService = 'mirroredService';

export const endpointSliceMirroringController: Controller = defineController({
  name: 'endpointslice-mirroring-controller',
  queue: 'endpoint_slice_mirroring',
  serviceAccount: 'endpointslicemirroring-controller',
  for: endpoints,
  owns: [endpointslices],
  access: [may(['create', 'delete', 'update'], endpointslices)],
  indexes: [
    index(endpointslices, byService, ({ metadata }) => {
      const { [serviceNameLabel]: service, [managedByLabel]: manager } = metadata.labels ?? {};
      return service !== undefined && manager === mirroringManager
        ? [keyOf(service, metadata.namespace)]
        : [];
    }),
  ],
  watches: [watching(services, (service) => [objectKey(service)])],
  start: (context) => showSlices(context, 'endpoint_slice_mirroring_controller', mirroringManager),
  async reconcile({ name, namespace }, context) {
    const key = keyOf(name, namespace);
    const found = context.read(endpoints).get(name, namespace);
    if (found === undefined) context.expectations.forget(key);
    if (!context.expectations.satisfied(key)) return undefined;
    const existing = context
      .read(endpointslices)
      .byIndex(byService, key)
      .filter((slice) => slice.metadata.deletionTimestamp === undefined);
    const service = context.read(services).get(name, namespace);
    const mirrored = isMirrored(found, service) ? found : undefined;
    if (mirrored === undefined && existing.length === 0) return undefined;
    await writeSlices(
      context,
      'endpoint_slice_mirroring_controller',
      key,
      mirroredSlices(mirrored, existing),
    );
    return undefined;
  },
});
