// Empties a namespace: pods first, then everything else that the server serves.
import { pods } from '../../api/generated/resources.ts';
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type DiscoveredResource, type Discovery, supports } from '../../client/discovery.ts';
import type { ControllerClient } from '../../controller-runtime/define-controller.ts';
import type { Deletion } from './namespace-conditions.ts';

interface Progress {
  readonly contentFailures: string[];
  readonly remaining: Map<string, number>;
  readonly finalizers: Map<string, number>;
}
interface AnyObject {
  readonly metadata: ObjectMeta;
}

const count = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by);
};
/** A resource that is not served (any more) or takes no such verb has nothing to delete. */
const isAbsent = (error: unknown): boolean =>
  isStatusError(error, 'NotFound') || isStatusError(error, 'MethodNotAllowed');

async function listOf(
  client: ControllerClient,
  resource: DiscoveredResource,
  namespace: string,
): Promise<readonly AnyObject[]> {
  const { items } = await client.list(resource, { namespace });
  return items as readonly AnyObject[];
}

async function deleteOne(
  client: ControllerClient,
  resource: DiscoveredResource,
  namespace: string,
  progress: Progress,
): Promise<void> {
  const title = `${resource.resource}.${resource.group}`;
  try {
    let left = await listOf(client, resource, namespace);
    if (left.length === 0) return;
    if (supports(resource, 'deletecollection'))
      await client.deleteCollection(resource, { namespace, propagationPolicy: 'Background' });
    else
      for (const { metadata } of left)
        await client
          .delete(resource, { name: metadata.name, namespace }, { propagationPolicy: 'Background' })
          .catch((error: unknown) => {
            if (!isStatusError(error, 'NotFound')) throw error;
          });
    left = await listOf(client, resource, namespace);
    if (left.length === 0) return;
    count(progress.remaining, title, left.length);
    for (const { metadata } of left)
      for (const finalizer of metadata.finalizers ?? []) count(progress.finalizers, finalizer, 1);
  } catch (error) {
    if (!isAbsent(error))
      progress.contentFailures.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const isPods = (resource: DiscoveredResource): boolean =>
  resource.group === pods.group && resource.resource === pods.resource;

/** While pods run, what they use stays: as upstream's ordered namespace deletion. */
export async function deleteContent(
  client: ControllerClient,
  discovery: Discovery,
  namespace: string,
): Promise<Deletion> {
  const progress: Progress = { contentFailures: [], remaining: new Map(), finalizers: new Map() };
  const content = discovery.resources.filter((r) => r.namespaced && supports(r, 'list', 'delete'));
  for (const resource of content.filter(isPods)) await deleteOne(client, resource, namespace, progress);
  if (progress.remaining.size === 0)
    for (const resource of content)
      if (!isPods(resource)) await deleteOne(client, resource, namespace, progress);
  return { ...progress, discoveryFailures: discovery.failures };
}
