// Keeps the number of pods of a ReplicaSet at what it asks for.
import { events, pods, replicasets } from '../api/generated/resources.ts';
import type { ReplicaSet, ReplicaSetStatus } from '../api/generated/types/apps-v1.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { matchesSelector, selectorFrom } from '../apimachinery/label-selector.ts';
import { rfc3339 } from '../base/clock.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import {
  isPodActive,
  isPodAvailable,
  isPodReady,
  isPodTerminal,
  isPodTerminating,
} from '../component-helpers/pod-status.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { controllerIndex, controllerOf } from '../controller-runtime/owner-reference.ts';
import { msUntilNextAvailable } from './workload/availability.ts';
import { claim } from './workload/claim.ts';
import { withCondition, withoutCondition } from './workload/conditions.ts';
import { deletionOrder } from './workload/deletion-order.ts';
import { omitZeros } from './workload/omit-zeros.ts';
import { changePods, podFromTemplate } from './workload/pod-control.ts';
import { sameStatus } from './workload/semantic-equal.ts';

/** Upstream's BurstReplicas: at most so many pods are created or deleted before the world is looked at again. */
const burstReplicas = 500;

export interface ReplicaSetObservation {
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly now: number;
  /** Why the last creation or deletion failed. */
  readonly failure: string | undefined;
}

/** The status that follows from the pods. */
export function replicaSetStatus(rs: ReplicaSet, observed: ReplicaSetObservation): ReplicaSetStatus {
  const { active, now, failure } = observed;
  const minReady = rs.spec?.minReadySeconds ?? 0;
  const templateLabels = selectorFrom({ matchLabels: rs.spec?.template?.metadata?.labels ?? {} });
  const conditions =
    failure === undefined
      ? withoutCondition(rs.status?.conditions, 'ReplicaFailure')
      : withCondition(rs.status?.conditions, {
          type: 'ReplicaFailure',
          status: 'True',
          reason: active.length < (rs.spec?.replicas ?? 1) ? 'FailedCreate' : 'FailedDelete',
          message: failure,
          lastTransitionTime: rfc3339(now),
        });
  const status: ReplicaSetStatus = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter((pod) => matchesSelector(templateLabels, pod.metadata.labels)).length,
    readyReplicas: active.filter(isPodReady).length,
    availableReplicas: active.filter((pod) => isPodAvailable(pod, minReady, now)).length,
    terminatingReplicas: observed.terminating,
    observedGeneration: rs.metadata.generation,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
  return omitZeros(status, 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas');
}

/** How many related pods are on each node: of two equal pods the one with more company goes first. */
function nodeRanks(context: ControllerContext, rs: ReplicaSet): (pod: Pod) => number {
  const deployment = controllerOf(rs);
  const related =
    deployment === undefined
      ? [rs]
      : context
          .read(replicasets)
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
  rs: ReplicaSet,
  active: readonly Pod[],
): Promise<unknown> {
  const missing = (rs.spec?.replicas ?? 1) - active.length;
  if (missing === 0) return undefined;
  const owner = { resource: replicasets, object: rs };
  const template = rs.spec?.template ?? {};
  const surplus = Math.min(-missing, burstReplicas);
  const remove =
    missing > 0 ? [] : deletionOrder(active, nodeRanks(context, rs), context.clock.now()).slice(0, surplus);
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

export const replicaSetController: Controller = defineController({
  name: 'replicaset-controller',
  serviceAccount: 'replicaset-controller',
  for: replicasets,
  owns: [pods],
  selectorOf: (rs) => rs.spec?.selector,
  writes: [replicasets, pods, events],
  async reconcile({ name, namespace }, context) {
    const key = keyOf(name, namespace);
    const rs = context.read(replicasets).get(name, namespace);
    if (rs === undefined) {
      context.expectations.forget(key);
      return undefined;
    }
    const maySync = context.expectations.satisfied(objectKey(rs));
    const claimed = await claim(context, {
      ownerResource: replicasets,
      owner: rs,
      selector: selectorFrom(rs.spec?.selector),
      resource: pods,
      mayAdopt: isPodActive,
    });
    const active = claimed.filter(isPodActive);
    const failure =
      maySync && rs.metadata.deletionTimestamp === undefined
        ? await manageReplicas(context, rs, active)
        : undefined;
    const now = context.clock.now();
    const status = replicaSetStatus(rs, {
      active,
      terminating: claimed.filter((pod) => isPodTerminating(pod) && !isPodTerminal(pod)).length,
      now,
      failure:
        failure === undefined ? undefined : failure instanceof Error ? failure.message : String(failure),
    });
    if (!sameStatus(status, rs.status))
      await context.write.update(replicasets, { ...rs, status }, { subresource: 'status' });
    if (failure !== undefined) throw failure;
    return { requeueAfterMs: msUntilNextAvailable(active, rs.spec?.minReadySeconds ?? 0, now) };
  },
});
