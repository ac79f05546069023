// Keeps the number of pods of an owner at what it asks for: what ReplicaSets and ReplicationControllers share.
import { pods } from '../../api/generated/resources.ts';
import type { ReplicaSet, ReplicaSetStatus } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { LabelSelector } from '../../api/generated/types/meta-v1.ts';
import { withConditionLast, withoutCondition } from '../../apimachinery/conditions.ts';
import { matchesSelector, selectorFrom } from '../../apimachinery/label-selector.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { rfc3339 } from '../../base/clock.ts';
import { keyOf, objectKey } from '../../client/cache/object-store.ts';
import {
  isPodActive,
  isPodAvailable,
  isPodReady,
  isPodTerminal,
  isPodTerminating,
} from '../../component-helpers/pod-status.ts';
import { may, mayRecordEvents } from '../../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../../controller-runtime/define-controller.ts';
import { controllerIndex, controllerOf } from '../../controller-runtime/owner-reference.ts';
import { msUntilNextAvailable } from '../workload/availability.ts';
import { claim } from '../workload/claim.ts';
import { deletionOrder } from '../workload/deletion-order.ts';
import { changePods, podFromTemplate } from '../workload/pod-control.ts';
import { sameStatus } from '../workload/same-status.ts';

/** Upstream's BurstReplicas: at most so many pods are created or deleted before the world is looked at again. */
const burstReplicas = 500;

/** The fields that both kinds have. */
export interface ReplicaOwner {
  readonly metadata: ReplicaSet['metadata'];
  readonly spec?: Omit<Partial<ReplicaSet['spec']>, 'selector'> | undefined;
  readonly status?: ReplicaSetStatus | undefined;
}

/** What differs between the two. */
export interface ReplicaKind<T extends ReplicaOwner> {
  /** Canonical name of the controller. */
  readonly name: string;
  readonly queue: string;
  readonly serviceAccount: string;
  readonly resource: ResourceRef<T>;
  selectorOf(owner: T): LabelSelector | undefined;
  /** Whether the status counts pods that are being deleted. */
  readonly countsTerminating: boolean;
}

export interface ReplicaObservation {
  readonly active: readonly Pod[];
  /** Pods that are being deleted; undefined where the kind does not say. */
  readonly terminating: number | undefined;
  readonly now: number;
  /** Why the last creation or deletion failed. */
  readonly failure: string | undefined;
}

/** The status that follows from the pods. */
function replicaStatus(rs: ReplicaOwner, observed: ReplicaObservation): ReplicaSetStatus {
  const { active, now, failure } = observed;
  const minReady = rs.spec?.minReadySeconds ?? 0;
  const templateLabels = selectorFrom({ matchLabels: rs.spec?.template?.metadata?.labels ?? {} });
  const conditions =
    failure === undefined
      ? withoutCondition(rs.status?.conditions, 'ReplicaFailure')
      : withConditionLast(rs.status?.conditions, {
          type: 'ReplicaFailure',
          status: 'True',
          reason: active.length < (rs.spec?.replicas ?? 1) ? 'FailedCreate' : 'FailedDelete',
          message: failure,
          lastTransitionTime: rfc3339(now),
        });
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter((pod) => matchesSelector(templateLabels, pod.metadata.labels)).length,
    readyReplicas: active.filter(isPodReady).length,
    availableReplicas: active.filter((pod) => isPodAvailable(pod, minReady, now)).length,
    ...(observed.terminating === undefined ? {} : { terminatingReplicas: observed.terminating }),
    observedGeneration: rs.metadata.generation,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

/** How many related pods are on each node: of two equal pods the one with more company goes first. */
function nodeRanks(
  context: ControllerContext,
  resource: ResourceRef<ReplicaOwner>,
  rs: ReplicaOwner,
): (pod: Pod) => number {
  const deployment = controllerOf(rs);
  const related =
    deployment === undefined
      ? [rs]
      : context
          .read(resource)
          .list(rs.metadata.namespace)
          .filter((other) => controllerOf(other)?.uid === deployment.uid);
  const counts = new Map<string, number>();
  for (const { metadata } of related)
    for (const pod of context.read(pods).byIndex(controllerIndex, metadata.uid ?? '')) {
      const node = pod.spec.nodeName ?? '';
      if (isPodActive(pod) && node !== '') counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  return (pod) => counts.get(pod.spec.nodeName ?? '') ?? 0;
}

/** Returns why it could not be done. */
async function manageReplicas(
  context: ControllerContext,
  resource: ResourceRef<ReplicaOwner>,
  rs: ReplicaOwner,
  active: readonly Pod[],
): Promise<unknown> {
  const missing = (rs.spec?.replicas ?? 1) - active.length;
  if (missing === 0) return undefined;
  const owner = { resource, object: rs };
  const template = rs.spec?.template ?? {};
  const surplus = Math.min(-missing, burstReplicas);
  const remove =
    missing > 0
      ? []
      : deletionOrder(active, nodeRanks(context, resource, rs), context.clock.now()).slice(0, surplus);
  try {
    await changePods(context, owner, {
      create: Math.max(0, Math.min(missing, burstReplicas)),
      pod: () => podFromTemplate(owner, template),
      remove,
    });
    return undefined;
  } catch (error) {
    return error;
  }
}

export function replicaController<T extends ReplicaOwner>(kind: ReplicaKind<T>): Controller {
  const { resource, selectorOf } = kind;
  return defineController<T>({
    name: kind.name,
    queue: kind.queue,
    serviceAccount: kind.serviceAccount,
    for: resource,
    owns: [pods],
    selectorOf,
    access: [
      may('get', resource),
      may('update', resource, 'status'),
      may(['create', 'delete', 'patch'], pods),
      mayRecordEvents,
    ],
    async reconcile({ name, namespace }, context) {
      const key = keyOf(name, namespace);
      const rs = context.read(resource).get(name, namespace);
      if (rs === undefined) {
        context.expectations.forget(key);
        return undefined;
      }
      const maySync = context.expectations.satisfied(objectKey(rs));
      const claimed = await claim(context, {
        ownerResource: resource,
        owner: rs,
        selector: selectorFrom(selectorOf(rs)),
        resource: pods,
        mayAdopt: isPodActive,
      });
      const active = claimed.filter(isPodActive);
      const failure =
        maySync && rs.metadata.deletionTimestamp === undefined
          ? await manageReplicas(context, resource, rs, active)
          : undefined;
      const now = context.clock.now();
      const status = replicaStatus(rs, {
        active,
        terminating: kind.countsTerminating
          ? claimed.filter((pod) => isPodTerminating(pod) && !isPodTerminal(pod)).length
          : undefined,
        now,
        failure:
          failure === undefined ? undefined : failure instanceof Error ? failure.message : String(failure),
      });
      if (!sameStatus(status, rs.status))
        await context.write.update(resource, { ...rs, status }, { subresource: 'status' });
      if (failure !== undefined) throw failure;
      return { requeueAfterMs: msUntilNextAvailable(active, rs.spec?.minReadySeconds ?? 0, now) };
    },
  });
}
