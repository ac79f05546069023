// Eviction: a delete that asks the pod's disruption budgets first.
import { poddisruptionbudgets } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Condition } from '../../api/generated/types/meta-v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/types/policy-v1.ts';
import { findCondition, withCondition } from '../../apimachinery/conditions.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import {
  badRequest,
  forbidden,
  internalError,
  isStatusError,
  StatusError,
} from '../../apimachinery/errors.ts';
import { meta, obj, str, strs } from '../../apimachinery/json-access.ts';
import { matchesSelector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { isInt64 } from '../../apimachinery/serializer/json-numbers.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { checkPreconditions, type DeleteOptions } from '../../apiserver/registry/delete-object.ts';
import type { RestAnswer, RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { rfc3339 } from '../../base/clock.ts';
import { isPodReady, isPodTerminal, isPodTerminating } from '../../component-helpers/pod-status.ts';

type Status = NonNullable<PodDisruptionBudget['status']>;

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";

const tooMany = (message: string, cause: string, retryAfterSeconds: number): StatusError =>
  new StatusError(429, 'TooManyRequests', message, {
    causes: [{ reason: 'DisruptionBudget', message: cause }],
    ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
  });

const stillProcessed = (budget: string): StatusError =>
  tooMany(violation, `The disruption budget ${budget} is still being processed by the server.`, 10);

/** Such pods hold nothing up: they may always go. */
const needsNoBudget = (pod: Pod): boolean =>
  ['Succeeded', 'Failed', 'Pending'].includes(pod.status?.phase ?? '') ||
  pod.metadata?.deletionTimestamp !== undefined;

/** As upstream: so many evictions that the controller has not seen are a fault of its own. */
const maxDisruptedPods = 2000;

const conditionType = 'DisruptionAllowed';

const noneLeft = ({ observedGeneration }: Status, now: string): Condition => ({
  type: conditionType,
  status: 'False',
  reason: 'InsufficientPods',
  message: '',
  observedGeneration,
  lastTransitionTime: now,
});

/** The numbers of a budget whose controller failed say nothing. */
function whyNone(budget: string, { conditions, currentHealthy = 0, desiredHealthy = 0 }: Status): string {
  const { status, message = '', reason } = findCondition(conditions, conditionType) ?? {};
  const says = status === 'False' && message !== '';
  const refuses = `The disruption budget ${budget} does not allow evicting pods currently`;
  if (says && reason === 'SyncFailed') return `${refuses} because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return says ? `${refuses} (${reason}): ${message}` : refuses;
}

/** The budget with one disruption less; throws 429 when there is none left. */
function spend(budget: PodDisruptionBudget, pod: string, now: string): PodDisruptionBudget {
  const name = budget.metadata?.name ?? '';
  const status = budget.status ?? ({} as Status);
  if ((status.observedGeneration ?? 0) < (budget.metadata?.generation ?? 0)) throw stillProcessed(name);
  const allowed = status.disruptionsAllowed ?? 0;
  const refuse = (why: string): StatusError =>
    forbidden({ group: 'policy', resource: 'poddisruptionbudget' }, name, why);
  if (allowed < 0) throw refuse('pdb disruptions allowed is negative');
  if (Object.keys(status.disruptedPods ?? {}).length > maxDisruptedPods)
    throw refuse('DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  if (allowed === 0) throw tooMany(violation, whyNone(name, status), 0);
  return {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...status.disruptedPods, [pod]: now },
      // The controller says it later; who waits for the condition must not take this for a budget that has more.
      ...(allowed === 1 && { conditions: withCondition(status.conditions, noneLeft(status, now)) }),
    },
  };
}

/** A pod that is not ready counts as healthy nowhere: it goes without spending anything. */
function maySpendNothing(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (isPodReady(pod)) return false;
  const desired = status?.desiredHealthy ?? 0;
  return (
    spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    (desired > 0 && (status?.currentHealthy ?? 0) >= desired)
  );
}

/** A dry run may be asked for by the query or by the eviction itself, as `kubectl drain` does. Throws when they differ. */
function isDryRunOf({ context, dryRun }: RestRequest, eviction: JsonObject): boolean {
  const asked = strs(obj(eviction.deleteOptions).dryRun);
  if (asked.length === 0 || !dryRun) return dryRun || asked.length > 0;
  const queried = context.query.getAll('dryRun');
  if (asked.join() === queried.join()) return true;
  throw internalError(
    new Error(
      `Non-matching dry-run options in request and content: [${queried.join(' ')}] and [${asked.join(' ')}]`,
    ),
  );
}

function deleteOptionsOf(eviction: JsonObject): DeleteOptions {
  const options = obj(eviction.deleteOptions);
  const preconditions = obj(options.preconditions);
  const policy = str(options.propagationPolicy);
  return {
    ...(isInt64(options.gracePeriodSeconds) ? { gracePeriodSeconds: options.gracePeriodSeconds } : {}),
    ...(policy === 'Orphan' || policy === 'Background' || policy === 'Foreground'
      ? { propagationPolicy: policy }
      : {}),
    ...(str(preconditions.uid) === '' ? {} : { uid: str(preconditions.uid) }),
    ...(str(preconditions.resourceVersion) === ''
      ? {}
      : { resourceVersion: str(preconditions.resourceVersion) }),
  };
}

/** Spends what its budget has to be asked for. True: it goes without, as long as it is not ready. */
async function spentNothing(
  request: RestRequest,
  pod: Pod,
  budgets: readonly PodDisruptionBudget[],
  dryRun: boolean,
): Promise<boolean> {
  if (budgets.length > 1) {
    throw new StatusError(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  const [budget] = budgets;
  if (budget === undefined) return false;
  if (maySpendNothing(pod, budget)) return true;
  const now = rfc3339(request.clock.now());
  await request
    .store('policy', 'poddisruptionbudgets')
    .update(
      request.namespace,
      budget.metadata?.name ?? '',
      (current) =>
        spend(current as unknown as PodDisruptionBudget, request.name, now) as unknown as JsonObject,
      { asker: request.context, subresource: 'status', dryRun },
    );
  return false;
}

/** Says in the pod's status that it is going by an eviction: policies of jobs do not count it as a failure. Answers its revision. */
async function markEvicted(
  { context: asker, store, namespace, name, clock }: RestRequest,
  { uid, resourceVersion }: DeleteOptions,
): Promise<string> {
  const pods = store('', 'pods');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: rfc3339(clock.now()),
  };
  const mark = (current: JsonObject = {}): JsonObject => {
    checkPreconditions(pods, current, { uid, resourceVersion });
    const { status } = current as unknown as Pod;
    const conditions = withCondition(status?.conditions, condition);
    return { ...current, status: { ...status, conditions } as unknown as JsonObject };
  };
  const { revision } = await pods.update(namespace, name, mark, { asker, subresource: 'status' });
  return String(revision);
}

/** Whoever changes the pod meanwhile is not slept upon: what it became is looked at. */
const attempts = 20;

export function createPodEviction(live: LiveObjects): RestHandler {
  const budgetsOf = (pod: Pod): PodDisruptionBudget[] =>
    live
      .list(poddisruptionbudgets, { namespace: pod.metadata?.namespace ?? '' })
      .filter((budget) => matchesSelector(selectorFrom(budget.spec?.selector), pod.metadata?.labels ?? {}));

  const evict = async (request: RestRequest, eviction: JsonObject, dryRun: boolean): Promise<void> => {
    const store = request.store('', 'pods');
    const asked = deleteOptionsOf(eviction);
    const remove = async (options: DeleteOptions): Promise<void> => {
      const marked = dryRun ? undefined : await markEvicted(request, options);
      const isHeld = marked !== undefined && options.resourceVersion !== undefined;
      await store.delete(
        request.namespace,
        request.name,
        isHeld ? { ...options, resourceVersion: marked } : options,
        { context: undefined, asker: request.context, dryRun, subresource: '', fieldManager: '' },
      );
    };
    for (let left = attempts; ; left--) {
      const pod = store.served(store.cached(request.namespace, request.name).value) as unknown as Pod;
      const pending = needsNoBudget(pod) && !isPodTerminal(pod) && !isPodTerminating(pod);
      const budgets = needsNoBudget(pod) ? [] : budgetsOf(pod);
      const unready = await spentNothing(request, pod, budgets, dryRun);
      // It must not have become ready since.
      const isHeld = (pending || unready) && asked.resourceVersion === undefined;
      const { resourceVersion } = pod.metadata;
      try {
        await remove(isHeld ? { ...asked, resourceVersion } : asked);
        return;
      } catch (error) {
        if (!isHeld || !isStatusError(error, 'Conflict')) throw error;
        if (unready) throw stillProcessed(budgets[0]!.metadata?.name ?? '');
        if (left <= 1) throw error;
      }
    }
  };

  const create = async (request: RestRequest): Promise<RestAnswer> => {
    const eviction = request.object ?? {};
    if (str(meta(eviction).name) !== request.name) {
      throw badRequest('name in URL does not match name in Eviction object');
    }
    await evict(request, eviction, isDryRunOf(request, eviction));
    return {
      status: 201,
      object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
    };
  };
  return { create, bodyVersions: ['v1beta1'] };
}
