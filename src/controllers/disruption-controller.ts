// Says in the status of each disruption budget how many pods may be evicted now.
import {
  deployments,
  poddisruptionbudgets,
  pods,
  replicasets,
  replicationcontrollers,
  statefulsets,
} from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { PodDisruptionBudget } from '../api/generated/types/policy-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { formatLabelSelector } from '../apimachinery/label-selector.ts';
import { objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { anything, may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type AnyResource,
  type Controller,
  type ControllerContext,
  defineController,
  type Watch,
  watching,
} from '../controller-runtime/define-controller.ts';
import { budgetStatus, isBudgetOf, needsScale, withAllowed } from './disruption/budget-status.ts';
import { expectedScale } from './disruption/expected-scale.ts';
import { sameStatus } from './workload/same-status.ts';

const unmanagedMessage = (budget: PodDisruptionBudget): string =>
  `Pods selected by this PodDisruptionBudget (selector: ${formatLabelSelector(budget.spec.selector ?? {})}) were ` +
  'found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in ' +
  'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';

const budgetsOf = (context: ControllerContext, pod: Pod): string[] =>
  context
    .read(poddisruptionbudgets)
    .list(pod.metadata.namespace)
    .filter((budget) => isBudgetOf(budget, pod))
    .map(objectKey);

/** Owners that grow or shrink change what is expected; the few budgets of a namespace are simply looked at again. */
const ownersOf = (resource: AnyResource): Watch => ({
  resource,
  keys(object, { type, old }, context) {
    const [now, before] = [object, old] as { metadata: { namespace?: string }; spec?: object }[];
    if (type === 'updated' && semanticEqual(now?.spec, before?.spec)) return [];
    return context.read(poddisruptionbudgets).list(now?.metadata.namespace).map(objectKey);
  },
});

async function sync(context: ControllerContext, budget: PodDisruptionBudget): Promise<number | undefined> {
  const about = referenceTo(poddisruptionbudgets, budget);
  const covered = context
    .read(pods)
    .list(budget.metadata.namespace)
    .filter((pod) => isBudgetOf(budget, pod));
  if (covered.length === 0) context.events.event(about, 'Normal', 'NoPods', 'No matching pods found');
  let scale = 0;
  if (needsScale(budget))
    try {
      const expected = await expectedScale(context, covered);
      scale = expected.scale;
      if (expected.unmanaged.length > 0)
        context.events.event(about, 'Warning', 'UnmanagedPods', unmanagedMessage(budget));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      context.events.event(
        about,
        'Warning',
        'CalculateExpectedPodCountFailed',
        `Failed to calculate the number of expected pods: ${why}`,
      );
      throw error;
    }
  const now = context.clock.now();
  const { status, recheckAt, notDeleted } = budgetStatus(budget, { pods: covered, scale, now });
  for (const pod of notDeleted)
    context.events.event(
      referenceTo(pods, pod),
      'Warning',
      'NotDeleted',
      `Pod was expected by PDB ${objectKey(budget)} to be deleted but it wasn't`,
    );
  if (!sameStatus(status, budget.status))
    await context.write.update(poddisruptionbudgets, { ...budget, status }, { subresource: 'status' });
  return recheckAt === undefined ? undefined : Math.max(1, recheckAt - now + 1);
}

/** What can't be calculated allows nothing. */
async function failSafe(
  context: ControllerContext,
  budget: PodDisruptionBudget,
  message: string,
): Promise<void> {
  const allowed = { status: 'False', reason: 'SyncFailed', message };
  const status = {
    ...budget.status,
    currentHealthy: budget.status?.currentHealthy ?? 0,
    desiredHealthy: budget.status?.desiredHealthy ?? 0,
    expectedPods: budget.status?.expectedPods ?? 0,
    disruptionsAllowed: 0,
    observedGeneration: budget.metadata.generation,
    conditions: withAllowed(budget, allowed, context.clock.now()),
  };
  if (!sameStatus(status, budget.status))
    await context.write.update(poddisruptionbudgets, { ...budget, status }, { subresource: 'status' });
}

export const disruptionController: Controller = defineController({
  name: 'disruption-controller',
  queue: 'disruption',
  serviceAccount: 'disruption-controller',
  for: poddisruptionbudgets,
  access: [may('update', poddisruptionbudgets, 'status'), may('get', anything, 'scale'), mayRecordEvents],
  watches: [
    watching(pods, (pod, { old }, context) => [
      ...new Set([...budgetsOf(context, pod), ...(old === undefined ? [] : budgetsOf(context, old))]),
    ]),
    ...[replicasets, deployments, replicationcontrollers, statefulsets].map((resource) =>
      ownersOf(resource as AnyResource),
    ),
  ],
  async reconcile({ name, namespace }, context) {
    const budget = context.read(poddisruptionbudgets).get(name, namespace);
    if (budget === undefined) return undefined;
    try {
      return { requeueAfterMs: await sync(context, budget) };
    } catch (error) {
      if (!isStatusError(error, 'Conflict') && !isStatusError(error, 'NotFound'))
        await failSafe(context, budget, error instanceof Error ? error.message : String(error));
      throw error;
    }
  },
});
