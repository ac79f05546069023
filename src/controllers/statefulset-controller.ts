// Pods with names, numbers and storage of their own, one after the other.
import {
  controllerrevisions,
  persistentvolumeclaims,
  pods,
  statefulsets,
} from '../api/generated/resources.ts';
import type { StatefulSet } from '../api/generated/types/apps-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { selectorFrom } from '../apimachinery/label-selector.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import {
  mayKeepRevisions,
  type RevisionOwner,
  sortRevisions,
  syncRevisions,
  templateOf,
  trimRevisions,
} from './daemon/revision-history.ts';
import {
  type StatefulCreation,
  type StatefulPlan,
  type StatefulView,
  statefulPlan,
  statefulStatus,
} from './statefulset/stateful-plan.ts';
import { claimsOfSet, isOfRevision, ordinalOf, statefulPod } from './statefulset/stateful-pod.ts';
import { msUntilNextAvailable } from './workload/availability.ts';
import { claim } from './workload/claim.ts';
import { podsAllowed } from './workload/pod-control.ts';
import { sameStatus } from './workload/same-status.ts';

async function createOne(
  context: ControllerContext,
  set: StatefulSet,
  { ordinal, revision }: StatefulCreation,
): Promise<void> {
  const pod = statefulPod(set, ordinal, revision);
  const { name } = pod.metadata;
  const about = referenceTo(statefulsets, set);
  const { namespace } = set.metadata;
  for (const wanted of claimsOfSet(set, name)) {
    if (context.read(persistentvolumeclaims).get(wanted.metadata.name, namespace) !== undefined) continue;
    try {
      await context.write.create(persistentvolumeclaims, wanted);
      const text = `create Claim ${wanted.metadata.name} Pod ${name} in StatefulSet ${set.metadata.name} success`;
      context.events.event(about, 'Normal', 'SuccessfulCreate', text);
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
  }
  try {
    await context.write.create(pods, pod);
  } catch (error) {
    if (isStatusError(error, 'AlreadyExists')) return;
    const why = error instanceof Error ? error.message : String(error);
    const text = `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${why}`;
    context.events.event(about, 'Warning', 'FailedCreate', text);
    throw error;
  }
  const text = `create Pod ${name} in StatefulSet ${set.metadata.name} successful`;
  context.events.event(about, 'Normal', 'SuccessfulCreate', text);
}

async function carryOut(context: ControllerContext, set: StatefulSet, plan: StatefulPlan): Promise<void> {
  const about = referenceTo(statefulsets, set);
  for (const { metadata } of plan.remove) {
    const { name, namespace, uid } = metadata;
    try {
      await context.write.delete(pods, { name, namespace }, { preconditions: { uid: uid ?? '' } });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      continue;
    }
    const text = `delete Pod ${name} in StatefulSet ${set.metadata.name} successful`;
    context.events.event(about, 'Normal', 'SuccessfulDelete', text);
  }
  const allowed = podsAllowed(context, { resource: statefulsets, object: set }, plan.create.length);
  for (const wanted of plan.create.slice(0, allowed)) await createOne(context, set, wanted);
}

export const statefulSetController: Controller = defineController({
  name: 'statefulset-controller',
  queue: 'statefulset',
  serviceAccount: 'statefulset-controller',
  for: statefulsets,
  owns: [pods, controllerrevisions],
  selectorOf: (set) => set.spec?.selector,
  reads: [persistentvolumeclaims],
  access: [
    may('get', statefulsets),
    may('update', statefulsets, 'status'),
    may(['create', 'delete', 'patch'], pods),
    mayKeepRevisions,
    may('create', persistentvolumeclaims),
    mayRecordEvents,
  ],
  async reconcile({ name, namespace }, context) {
    const set = context.read(statefulsets).get(name, namespace);
    if (set?.spec === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
    const request = { ownerResource: statefulsets, owner: set, selector: selectorFrom(set.spec.selector) };
    const owner: RevisionOwner = {
      resource: statefulsets,
      object: set,
      template: set.spec.template,
      collisionCount: set.status?.collisionCount === 0 ? undefined : set.status?.collisionCount,
      historyLimit: set.spec.revisionHistoryLimit ?? 10,
      hashLabel: 'controller.kubernetes.io/hash',
    };
    const known = await claim(context, { ...request, resource: controllerrevisions });
    const history = await syncRevisions(context, owner, known);
    const update = history.current;
    const current =
      sortRevisions(known).find((revision) => revision.metadata.name === set.status?.currentRevision) ??
      update;
    const claimed = await claim(context, {
      ...request,
      resource: pods,
      mayAdopt: (pod) => ordinalOf(set, pod) >= 0,
    });
    const view: StatefulView = {
      set,
      pods: claimed.filter((pod) => ordinalOf(set, pod) >= 0),
      current: { name: current.metadata.name, template: templateOf(current) ?? set.spec.template },
      update: { name: update.metadata.name, template: set.spec.template },
      now: context.clock.now(),
    };
    let failure: unknown;
    try {
      await carryOut(context, set, statefulPlan(view));
    } catch (error) {
      failure = error;
    }
    const { conditions } = set.status ?? {};
    const counts = statefulStatus(view, history.collisionCount);
    const status = conditions === undefined ? counts : { ...counts, conditions };
    if (!sameStatus(status, set.status))
      await context.write.update(statefulsets, { ...set, status }, { subresource: 'status' });
    await trimRevisions(
      context,
      owner,
      history.old,
      (revision) =>
        revision === current || claimed.some((pod) => isOfRevision(set, pod, revision.metadata.name)),
    );
    if (failure !== undefined) throw new Error(`StatefulSet ${keyOf(name, namespace)}`, { cause: failure });
    return { requeueAfterMs: msUntilNextAvailable(claimed, set.spec.minReadySeconds ?? 0, view.now) };
  },
});
