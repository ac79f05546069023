// The Endpoints object of each service with a selector, for clients that read no slices.

import { endpoints, pods, services } from '../api/generated/resources.ts';
import type { Endpoints } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { objectKey } from '../client/cache/object-store.ts';
import { isHeadless } from '../component-helpers/headless.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { desiredSubsets } from './endpoints/desired-endpoints.ts';
import { isManaged, selectedPods, servicesOf } from './endpoints/service-pods.ts';
import { isNamespaceTerminating } from './workload/namespace-terminating.ts';

const managedByLabel = 'endpoints.kubernetes.io/managed-by';
const managedBy = 'endpoint-controller';
const headlessLabel = 'service.kubernetes.io/headless';
const overCapacity = 'endpoints.kubernetes.io/over-capacity';

export const endpointsController: Controller = defineController({
  name: 'endpoints-controller',
  queue: 'endpoint',
  serviceAccount: 'endpoint-controller',
  for: services,
  access: [may(['create', 'delete', 'update'], endpoints)],
  watches: [
    watching(pods, (pod, { old }, context) => servicesOf(pod, old, context)),
    // What was read may have been older than the last write: it looks again when that has come.
    watching(endpoints, (one) => [objectKey(one)]),
  ],
  async reconcile({ name, namespace }, context) {
    const service = context.read(services).get(name, namespace);
    const current = context.read(endpoints).get(name, namespace);
    if (service === undefined) {
      // Objects of the same name that nobody made here are their maker's.
      if (current?.metadata.labels?.[managedByLabel] !== managedBy) return undefined;
      await context.write.delete(endpoints, { name, namespace }).catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound')) throw error;
      });
      return undefined;
    }
    if (!isManaged(service) || service.metadata.deletionTimestamp !== undefined) return undefined;
    const { subsets, truncated } = desiredSubsets(service, selectedPods(context, service));
    const { [headlessLabel]: _, ...own } = service.metadata.labels ?? {};
    const labels = {
      ...own,
      [managedByLabel]: managedBy,
      ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
    };
    const { [overCapacity]: __, ...kept } = current?.metadata.annotations ?? {};
    const annotations = truncated ? { ...kept, [overCapacity]: 'truncated' } : kept;
    if (
      current !== undefined &&
      semanticEqual(current.subsets, subsets) &&
      semanticEqual(current.metadata.labels, labels) &&
      semanticEqual(current.metadata.annotations, annotations)
    )
      return undefined;
    const next: Endpoints = {
      metadata: { ...(current?.metadata ?? { name, namespace }), labels, annotations },
      subsets,
    };
    try {
      await (current === undefined
        ? context.write.create(endpoints, next)
        : context.write.update(endpoints, next));
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
    return undefined;
  },
});
