// PodTolerationRestriction: a namespace says what its pods tolerate, and what they may at most.
import { podQosClass } from '../../api/core/v1/pod-qos.ts';
import { namespaces, pods } from '../../api/generated/resources.ts';
import type { Toleration } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { plainRefusal } from './request/plain-refusal.ts';
import { requested } from './request/typed-request.ts';
import { includesToleration, mergeTolerations } from './toleration/merge-tolerations.ts';

const defaults = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const whitelist = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';

/** For namespaces that say nothing. */
export interface ClusterTolerations {
  readonly default: readonly Toleration[];
  readonly whitelist: readonly Toleration[];
}

/** Of a pod and of a whitelist: each of the one is compared with each of the other. */
const maxTolerations = 1_000;

/** Undefined: the namespace says nothing. An empty list is something that is said. */
function tolerationsIn(text: string | undefined): readonly Toleration[] | undefined {
  if (text === undefined || text === '') return undefined;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw plainRefusal((error as Error).message);
  }
  if (list === null) return undefined;
  const isObject = (one: unknown): boolean => typeof one === 'object' && one !== null && !Array.isArray(one);
  if (!Array.isArray(list) || !list.every(isObject) || list.length > maxTolerations)
    throw plainRefusal("a namespace's annotation holds no list of tolerations");
  return list as Toleration[];
}

const memoryPressure: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
};

export function createPodTolerationRestriction(
  live: LiveObjects,
  cluster: ClusterTolerations,
): AdmissionPlugin {
  const saidBy = (namespace: string, annotation: string): readonly Toleration[] | undefined => {
    const found = live.get(namespaces, namespace);
    if (found === undefined) throw plainRefusal(`namespace ${namespace} does not exist`);
    return tolerationsIn(found.metadata?.annotations?.[annotation]);
  };
  const check = (request: AdmissionRequest): void => {
    const tolerations = requested(request, pods)?.spec?.tolerations ?? [];
    if (tolerations.length === 0) return;
    if (tolerations.length > maxTolerations)
      throw plainRefusal(`a pod may have at most ${maxTolerations} tolerations`);
    const own = saidBy(request.namespace, whitelist);
    const allowed = own ?? cluster.whitelist;
    if (allowed.length === 0) return;
    if (!tolerations.every((one) => allowed.some((wide) => includesToleration(wide, one))))
      throw plainRefusal(
        `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${own === undefined ? 'cluster' : 'namespace'} whitelist`,
      );
  };
  return {
    name: 'PodTolerationRestriction',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const pod = requested(request, pods);
      if (pod?.spec === undefined) return;
      const extra =
        request.operation === 'CREATE' ? [...(saidBy(request.namespace, defaults) ?? cluster.default)] : [];
      if (podQosClass(pod as unknown as JsonObject) !== 'BestEffort') extra.push(memoryPressure);
      if ((pod.spec.tolerations?.length ?? 0) + extra.length > maxTolerations)
        throw plainRefusal(`a pod may have at most ${maxTolerations} tolerations`);
      if (extra.length > 0)
        pod.spec.tolerations = mergeTolerations(pod.spec.tolerations ?? [], structuredClone(extra));
      check(request);
    },
    validate: check,
  };
}
