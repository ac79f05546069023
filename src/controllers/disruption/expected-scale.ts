// How many pods there should be: what the owners of a budget's pods ask for.
import {
  deployments,
  replicasets,
  replicationcontrollers,
  statefulsets,
} from '../../api/generated/resources.ts';
import type { ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { controllerOf, groupOf } from '../../controller-runtime/owner-reference.ts';

interface Scaled {
  readonly metadata: { readonly uid?: string | undefined };
  readonly spec?: { readonly replicas?: number | undefined } | undefined;
}
interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

const known: readonly ResourceRef<Scaled>[] = [
  replicasets,
  deployments,
  replicationcontrollers,
  statefulsets,
] as readonly ResourceRef<Scaled>[];

const isKind = (owner: OwnerReference, resource: ResourceRef): boolean =>
  owner.kind === resource.kind && groupOf(owner.apiVersion) === resource.group;

/** Of any other kind: by its scale subresource. */
async function otherScale(
  context: ControllerContext,
  owner: OwnerReference,
  namespace: string,
): Promise<Scale | undefined> {
  const { resources } = await context.discover();
  const found = resources.find((r) => isKind(owner, r));
  if (found === undefined) return undefined;
  const resource = found as ResourceRef<Scaled>;
  try {
    const scale = await context.write.get(
      resource,
      { name: owner.name, namespace },
      { subresource: 'scale' },
    );
    return scale.metadata.uid === owner.uid
      ? { uid: owner.uid, replicas: scale.spec?.replicas ?? 0 }
      : undefined;
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
    // Either the object is gone, or its kind can't be scaled: the caller is told which.
    if (found.subresources.includes('scale')) return undefined;
    const title = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
    throw new Error(`${title} does not implement the scale subresource`);
  }
}

async function scaleOf(
  context: ControllerContext,
  owner: OwnerReference,
  namespace: string,
): Promise<Scale | undefined> {
  const resource = known.find((r) => isKind(owner, r));
  if (resource === undefined) return otherScale(context, owner, namespace);
  const object = context.read(resource).get(owner.name, namespace);
  if (object?.metadata.uid !== owner.uid) return undefined;
  const above = resource.kind === replicasets.kind ? controllerOf(object as ReplicaSet) : undefined;
  if (above !== undefined && isKind(above, deployments)) return scaleOf(context, above, namespace);
  return { uid: owner.uid, replicas: object.spec?.replicas ?? 1 };
}

/** `unmanaged` names pods without an owner. */
export async function expectedScale(
  context: ControllerContext,
  pods: readonly Pod[],
): Promise<{ readonly scale: number; readonly unmanaged: readonly string[] }> {
  const unmanaged: string[] = [];
  const asked = new Set<string>();
  const scales = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner === undefined) unmanaged.push(pod.metadata.name);
    else if (!asked.has(owner.uid)) {
      asked.add(owner.uid);
      const scale = await scaleOf(context, owner, pod.metadata.namespace ?? '');
      if (scale === undefined)
        throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
      scales.set(scale.uid, scale.replicas);
    }
  }
  return { scale: [...scales.values()].reduce((sum, n) => sum + n, 0), unmanaged };
}
