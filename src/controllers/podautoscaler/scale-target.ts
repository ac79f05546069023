// What an autoscaler scales: any kind that has a scale.
import {
  deployments,
  replicasets,
  replicationcontrollers,
  statefulsets,
} from '../../api/generated/resources.ts';
import type { Scale } from '../../api/generated/types/autoscaling-v1.ts';
import type { HorizontalPodAutoscaler } from '../../api/generated/types/autoscaling-v2.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import type { KeptDiscovery } from './kept-discovery.ts';

export interface ScaleTarget {
  readonly resource: ResourceRef;
  readonly scale: Scale;
}

/** What is scaled most, of which nobody needs to be asked. */
const usual = [deployments, replicasets, statefulsets, replicationcontrollers] as readonly ResourceRef[];

/** Go's ParseGroupVersion. */
function groupOf(apiVersion: string): string {
  const parts = apiVersion.split('/');
  if (parts.length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  return parts.length === 2 ? parts[0]! : '';
}

/** As the server prefers the kind, whichever version the reference names. Throws in upstream's words. */
export async function scaleTargetOf(
  context: ControllerContext,
  discovery: KeptDiscovery,
  { metadata, spec: { scaleTargetRef } }: HorizontalPodAutoscaler,
): Promise<ScaleTarget> {
  const { apiVersion = '', kind, name } = scaleTargetRef;
  const group = groupOf(apiVersion);
  const get = (one: ResourceRef): Promise<Scale> =>
    context.write.get(
      one as ResourceRef<Scale>,
      { name, namespace: metadata.namespace },
      { subresource: 'scale' },
    );
  const isMeant = (one: ResourceRef): boolean => one.group === group && one.kind === kind;
  const builtIn = usual.find(isMeant);
  if (builtIn !== undefined) return { resource: builtIn, scale: await get(builtIn) };
  const { resources } = await discovery.with((one) => one.resources.some(isMeant));
  const [resource, ...others] = resources.filter(isMeant);
  if (resource === undefined)
    throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
  try {
    return { resource, scale: await get(resource) };
  } catch (error) {
    for (const other of others) {
      const scale = await get(other).catch(() => undefined);
      if (scale !== undefined) return { resource: other, scale };
    }
    throw error;
  }
}
