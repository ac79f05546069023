// Says in the status of each quota what its namespace uses of it.
import {
  configmaps,
  cronjobs,
  daemonsets,
  deployments,
  endpoints,
  jobs,
  persistentvolumeclaims,
  pods,
  replicasets,
  replicationcontrollers,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
  statefulsets,
} from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { ObjectMeta } from '../api/generated/types/meta-v1.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import { objectKey } from '../client/cache/object-store.ts';
import { countedResources, type GroupResource, isFinished } from '../component-helpers/quota-usage.ts';
import { anything, may } from '../controller-runtime/access.ts';
import {
  type AnyResource,
  type Controller,
  type ControllerContext,
  defineController,
  type Watch,
} from '../controller-runtime/define-controller.ts';
import { quotaStatus, sameAmounts } from './quota/quota-counts.ts';

/** Their comings and goings are seen at once; others are counted by the clock. */
const watched: readonly AnyResource[] = [
  configmaps,
  cronjobs,
  daemonsets,
  deployments,
  endpoints,
  jobs,
  persistentvolumeclaims,
  pods,
  replicasets,
  replicationcontrollers,
  secrets,
  serviceaccounts,
  services,
  statefulsets,
];
const recountEveryMs = 30_000;

interface AnyObject {
  readonly metadata: ObjectMeta;
}

/** Of updates only those matter that change what is used. */
function mayChangeUsage(resource: AnyResource, old: unknown, object: unknown): boolean {
  if (resource === (pods as AnyResource)) return isFinished(old as Pod) !== isFinished(object as Pod);
  return resource === (services as AnyResource) || resource === (persistentvolumeclaims as AnyResource);
}

const quotasOf = (resource: AnyResource): Watch => ({
  resource,
  keys: (object, { type, old }, context) =>
    type === 'updated' && !mayChangeUsage(resource, old, object)
      ? []
      : context
          .read(resourcequotas)
          .list((object as AnyObject).metadata.namespace)
          .map(objectKey),
});

const idOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;

/** Numbers of what the quota counts, from the informers where there are some, else from the server. */
async function countAll(
  context: ControllerContext,
  namespace: string,
  counted: readonly GroupResource[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const others: GroupResource[] = [];
  for (const one of counted) {
    const known = [...watched, resourcequotas as AnyResource].find((r) => idOf(r) === idOf(one));
    if (known === undefined) others.push(one);
    else counts.set(idOf(one), context.read(known).list(namespace).length);
  }
  if (others.length === 0) return counts;
  const { resources } = await context.discover();
  for (const one of others) {
    const resource: ResourceRef | undefined = resources.find((r) => idOf(r) === idOf(one) && r.namespaced);
    if (resource === undefined) continue;
    const { metadata, items } = await context.write.list(resource, { namespace, limit: 1 });
    counts.set(idOf(one), items.length + (metadata.remainingItemCount ?? 0));
  }
  return counts;
}

export const resourceQuotaController: Controller = defineController({
  name: 'resourcequota-controller',
  queue: 'resourcequota_primary',
  serviceAccount: 'resourcequota-controller',
  for: resourcequotas,
  access: [may('list', anything), may('update', resourcequotas, 'status')],
  watches: watched.map(quotasOf),
  resyncMs: recountEveryMs,
  async reconcile({ name, namespace = '' }, context) {
    const quota = context.read(resourcequotas).get(name, namespace);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return undefined;
    const counts = await countAll(context, namespace, countedResources(quota));
    const status = quotaStatus(quota, {
      pods: context.read(pods).list(namespace),
      services: context.read(services).list(namespace),
      claims: context.read(persistentvolumeclaims).list(namespace),
      count: (resource) => counts.get(idOf(resource)),
    });
    const { hard, used } = quota.status ?? {};
    if (sameAmounts(status.hard, hard) && sameAmounts(status.used, used)) return undefined;
    await context.write.update(resourcequotas, { ...quota, status }, { subresource: 'status' });
    return undefined;
  },
});
