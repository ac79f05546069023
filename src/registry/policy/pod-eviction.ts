// Eviction: a delete that asks the pod's disruption budgets first.
import { poddisruptionbudgets } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/types/policy-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, StatusError } from '../../apimachinery/errors.ts';
import { meta, obj, str } from '../../apimachinery/json-access.ts';
import { matchesSelector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { isInt64 } from '../../apimachinery/serializer/json-numbers.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { DeleteOptions } from '../../apiserver/registry/delete-object.ts';
import type { RestAnswer, RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { rfc3339 } from '../../base/clock.ts';

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";

const tooMany = (message: string, cause: string, retryAfterSeconds: number): StatusError =>
  new StatusError(429, 'TooManyRequests', message, {
    causes: [{ reason: 'DisruptionBudget', message: cause }],
    ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
  });

/** Such pods hold nothing up: they may always go. */
const needsNoBudget = (pod: Pod): boolean =>
  ['Succeeded', 'Failed', 'Pending'].includes(pod.status?.phase ?? '') ||
  pod.metadata?.deletionTimestamp !== undefined;

/** The budget with one disruption less; throws 429 when there is none left. */
function spend(budget: PodDisruptionBudget, pod: string, now: string): PodDisruptionBudget {
  const name = budget.metadata?.name ?? '';
  const status = budget.status ?? ({} as NonNullable<PodDisruptionBudget['status']>);
  if ((status.observedGeneration ?? 0) < (budget.metadata?.generation ?? 0)) {
    throw tooMany(violation, `The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const allowed = status.disruptionsAllowed ?? 0;
  if (allowed <= 0) {
    throw tooMany(
      violation,
      `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`,
      0,
    );
  }
  return {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...status.disruptedPods, [pod]: now },
    },
  };
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

export function createPodEviction(live: LiveObjects): RestHandler {
  const budgetsOf = (pod: Pod): PodDisruptionBudget[] =>
    live
      .list(poddisruptionbudgets, { namespace: pod.metadata?.namespace ?? '' })
      .filter((budget) => matchesSelector(selectorFrom(budget.spec?.selector), pod.metadata?.labels ?? {}));

  const create = async (request: RestRequest): Promise<RestAnswer> => {
    const eviction = request.object ?? {};
    const named = str(meta(eviction).name);
    if (named !== '' && named !== request.name) {
      throw badRequest('name in URL does not match name in Eviction object');
    }
    const store = request.store('', 'pods');
    const pod = store.served(store.cached(request.namespace, request.name).value) as unknown as Pod;
    if (!needsNoBudget(pod)) {
      const budgets = budgetsOf(pod);
      if (budgets.length > 1) {
        throw new StatusError(
          500,
          'InternalError',
          'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
        );
      }
      const [budget] = budgets;
      if (budget !== undefined) {
        const now = rfc3339(request.clock.now());
        await request
          .store('policy', 'poddisruptionbudgets')
          .update(
            request.namespace,
            budget.metadata?.name ?? '',
            (current) =>
              spend(current as unknown as PodDisruptionBudget, request.name, now) as unknown as JsonObject,
            { subresource: 'status', dryRun: request.dryRun },
          );
      }
    }
    await store.delete(request.namespace, request.name, deleteOptionsOf(eviction), {
      context: undefined,
      dryRun: request.dryRun,
      subresource: '',
      fieldManager: '',
    });
    return {
      status: 201,
      object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
    };
  };
  return { create };
}
