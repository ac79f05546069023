// Pods with names, numbers and storage of their own, one after the other.
import {
  controllerrevisions,
  persistentvolumeclaims,
  pods,
  statefulsets,
} from '../api/generated/resources.ts';
import type { StatefulSet } from '../api/generated/types/apps-v1.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { selectorFrom } from '../apimachinery/label-selector.ts';
import { objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  watching,
} from '../controller-runtime/define-controller.ts';
import { IgnorableError } from '../controller-runtime/ignorable-error.ts';
import { controllerIndex } from '../controller-runtime/owner-reference.ts';
import {
  mayKeepRevisions,
  type RevisionOwner,
  sortRevisions,
  syncRevisions,
  templateOf,
  trimRevisions,
} from './daemon/revision-history.ts';
import { ensureClaims, hasStaleClaim, mayKeepClaims, settleClaims } from './statefulset/stateful-claims.ts';
import {
  type StatefulCreation,
  type StatefulPlan,
  type StatefulView,
  statefulPlan,
  statefulStatus,
} from './statefulset/stateful-plan.ts';
import {
  identityLabels,
  isOfRevision,
  mayClaim,
  ordinalOf,
  statefulPod,
} from './statefulset/stateful-pod.ts';
import { msUntilNextAvailable } from './workload/availability.ts';
import { claim } from './workload/claim.ts';
import { isNamespaceTerminating } from './workload/namespace-terminating.ts';
import { podsAllowed } from './workload/pod-control.ts';
import { sameStatus } from './workload/same-status.ts';

type Verb = 'create' | 'update' | 'delete';
const title = { create: 'Create', update: 'Update', delete: 'Delete' } as const;
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Upstream's events about a pod of the set. */
function tell(
  context: ControllerContext,
  set: StatefulSet,
  verb: Verb,
  podName: string,
  error?: unknown,
): void {
  const about = referenceTo(statefulsets, set);
  const text = `${verb} Pod ${podName} in StatefulSet ${set.metadata.name}`;
  if (error === undefined)
    context.events.event(about, 'Normal', `Successful${title[verb]}`, `${text} successful`);
  else
    context.events.event(about, 'Warning', `Failed${title[verb]}`, `${text} failed error: ${textOf(error)}`);
}

/** Does it, and says so; what went away, or changed meanwhile, is looked at again without a word. */
async function telling(
  context: ControllerContext,
  set: StatefulSet,
  [verb, podName]: readonly [Verb, string],
  act: () => Promise<boolean>,
): Promise<void> {
  try {
    if (await act()) tell(context, set, verb, podName);
  } catch (error) {
    const isRace = isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict');
    const isWait = error instanceof IgnorableError || isNamespaceTerminating(error);
    if (!isRace && !isWait) tell(context, set, verb, podName, error);
    throw error;
  }
}

async function createOne(
  context: ControllerContext,
  set: StatefulSet,
  { ordinal, revision }: StatefulCreation,
): Promise<void> {
  const pod = statefulPod(set, ordinal, revision);
  const { name } = pod.metadata;
  if (hasStaleClaim(context, set, name))
    throw new IgnorableError(`a claim of pod ${name} is still there from the pod before`);
  let created: Pod | undefined;
  await telling(context, set, ['create', name], async () => {
    await ensureClaims(context, set, name);
    try {
      created = await context.write.create(pods, pod);
      return true;
    } catch (error) {
      // Ours, which the informer does not show yet, or somebody else's: it is in the way.
      if (isStatusError(error, 'AlreadyExists')) throw new IgnorableError(textOf(error), { cause: error });
      throw error;
    }
  });
  if (created === undefined) return;
  const made = created;
  await telling(context, set, ['update', name], async () => {
    await settleClaims(context, set, made);
    return false;
  });
}

/** A pod that stays is as the set says, and so are its claims. */
const settle = (context: ControllerContext, set: StatefulSet, pod: Pod): Promise<void> =>
  telling(context, set, ['update', pod.metadata.name], async () => {
    const settled = await settleClaims(context, set, pod);
    const labels = identityLabels(set, pod);
    if (labels !== undefined)
      await context.write.update(pods, { ...pod, metadata: { ...pod.metadata, labels } });
    return settled || labels !== undefined;
  });

const replaceMissing = (context: ControllerContext, set: StatefulSet, pod: Pod): Promise<void> =>
  telling(context, set, ['update', pod.metadata.name], async () => {
    await ensureClaims(context, set, pod.metadata.name);
    await settleClaims(context, set, pod);
    return false;
  });

const removeOne = (context: ControllerContext, set: StatefulSet, { metadata }: Pod): Promise<void> =>
  telling(context, set, ['delete', metadata.name], async () => {
    const { name, namespace, uid = '' } = metadata;
    try {
      await context.write.delete(pods, { name, namespace }, { preconditions: { uid } });
      return true;
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return false;
      throw error;
    }
  });

async function carryOut(context: ControllerContext, set: StatefulSet, plan: StatefulPlan): Promise<void> {
  for (const pod of plan.pending) await replaceMissing(context, set, pod);
  for (const pod of plan.staying) await settle(context, set, pod);
  for (const pod of plan.restart) await removeOne(context, set, pod);
  const allowed = podsAllowed(context, { resource: statefulsets, object: set }, plan.create.length);
  let wait: IgnorableError | undefined;
  for (const wanted of plan.create.slice(0, allowed))
    try {
      await createOne(context, set, wanted);
    } catch (error) {
      // One that has to wait for something to go keeps none of the others.
      if (!(error instanceof IgnorableError)) throw error;
      wait = error;
    }
  for (const pod of plan.condemned) await settleClaims(context, set, pod);
  for (const pod of plan.remove) await removeOne(context, set, pod);
  if (wait !== undefined) throw wait;
}

/** All else is the garbage collector's. */
async function countWhatIsLeft(context: ControllerContext, set: StatefulSet): Promise<void> {
  const { currentRevision = '', updateRevision = '', collisionCount } = set.status ?? {};
  const { template } = set.spec;
  const view: StatefulView = {
    set,
    pods: context
      .read(pods)
      .byIndex(controllerIndex, set.metadata.uid ?? '')
      .filter((pod) => ordinalOf(set, pod) >= 0),
    current: { name: currentRevision, template },
    update: { name: updateRevision, template },
    now: context.clock.now(),
  };
  await writeStatus(context, view, collisionCount);
}

async function writeStatus(
  context: ControllerContext,
  view: StatefulView,
  collisionCount: number | undefined,
): Promise<void> {
  const { set } = view;
  const { conditions } = set.status ?? {};
  const counts = statefulStatus(view, collisionCount);
  const status = conditions === undefined ? counts : { ...counts, conditions };
  if (!sameStatus(status, set.status))
    await context.write.update(statefulsets, { ...set, status }, { subresource: 'status' });
}

export const statefulSetController: Controller = defineController({
  name: 'statefulset-controller',
  queue: 'statefulset',
  serviceAccount: 'statefulset-controller',
  for: statefulsets,
  owns: [pods, controllerrevisions],
  selectorOf: (set) => set.spec?.selector,
  watches: [
    // A pod may wait for a claim of the one before to be gone, or for its own to be made again; and each gets its owners.
    watching(persistentvolumeclaims, ({ metadata }, { old }, context) =>
      old !== undefined && semanticEqual(old.metadata.ownerReferences, metadata.ownerReferences)
        ? []
        : context
            .read(statefulsets)
            .list(metadata.namespace)
            .filter((set) => mayClaim(set, metadata.name))
            .map(objectKey),
    ),
  ],
  access: [
    may('get', statefulsets),
    may('update', statefulsets, 'status'),
    may(['create', 'delete', 'patch', 'update'], pods),
    mayKeepRevisions,
    mayKeepClaims,
    mayRecordEvents,
  ],
  async reconcile({ name, namespace }, context) {
    const set = context.read(statefulsets).get(name, namespace);
    if (set?.spec === undefined) return undefined;
    if (set.metadata.deletionTimestamp !== undefined) {
      await countWhatIsLeft(context, set);
      return undefined;
    }
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
    await writeStatus(context, view, history.collisionCount);
    await trimRevisions(
      context,
      owner,
      history.old,
      (revision) =>
        revision === current || claimed.some((pod) => isOfRevision(set, pod, revision.metadata.name)),
    );
    if (failure !== undefined) throw failure;
    return { requeueAfterMs: msUntilNextAvailable(claimed, set.spec.minReadySeconds ?? 0, view.now) };
  },
});
