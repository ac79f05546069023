// Deletes pods that nobody else will: of nodes that are gone, never scheduled and deleted, and too many finished ones.
import { nodes, pods } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { withCondition } from '../apimachinery/conditions.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { rfc3339 } from '../base/clock.ts';
import { declareMetrics } from '../component-base/metrics.ts';
import { isPodTerminal, isPodTerminating } from '../component-helpers/pod-status.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineLoop,
} from '../controller-runtime/define-controller.ts';

const checkEveryMs = 20_000;
/** A node may be made again under its name; its pods are given this long. */
const quarantineMs = 40_000;
const defaultTerminatedThreshold = 12_500;
const outOfServiceTaint = 'node.kubernetes.io/out-of-service';

const createdAt = (pod: Pod): number => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;

/** Of evicted pods nothing is left to be seen but that. */
const isEvicted = ({ status }: Pod): boolean => status?.reason === 'Evicted';
const firstToGo = (a: Pod, b: Pod): number =>
  Number(isEvicted(b)) - Number(isEvicted(a)) ||
  createdAt(a) - createdAt(b) ||
  (a.metadata.name < b.metadata.name ? -1 : 1);

/** Finished pods beyond the threshold: those that were evicted, then the oldest. */
const surplusTerminated = (all: readonly Pod[], threshold: number): readonly Pod[] => {
  if (threshold <= 0) return [];
  const terminated = all.filter((pod) => isPodTerminal(pod) && !isPodTerminating(pod));
  if (terminated.length <= threshold) return [];
  return terminated.sort(firstToGo).slice(0, terminated.length - threshold);
};

const declared = declareMetrics((metrics) => ({
  deleted: metrics.counter(
    'pod_gc_collector_force_delete_pods_total',
    'Number of pods that are being forcefully deleted since the Pod GC Controller started.',
    ['namespace', 'reason'],
  ),
  failed: metrics.counter(
    'pod_gc_collector_force_delete_pod_errors_total',
    'Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.',
    ['namespace', 'reason'],
  ),
}));

type Reason = 'terminated' | 'orphaned' | 'out-of-service' | 'unscheduled';

async function remove(context: ControllerContext, pod: Pod, reason: Reason, why?: string): Promise<void> {
  const { name, namespace = '', uid } = pod.metadata;
  const { deleted, failed } = declared(context.metrics);
  try {
    if (!isPodTerminal(pod) && why !== undefined) {
      const conditions = withCondition(pod.status?.conditions, {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByPodGC',
        message: why,
        lastTransitionTime: rfc3339(context.clock.now()),
      });
      const body = { metadata: { uid }, status: { phase: 'Failed', conditions } };
      await context.write.patch(
        pods,
        { name, namespace },
        { type: 'strategic', body },
        { subresource: 'status' },
      );
    }
    await context.write.delete(
      pods,
      { name, namespace },
      { gracePeriodSeconds: 0, preconditions: { uid: uid ?? '' } },
    );
    deleted.inc({ namespace, reason });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return;
    failed.inc({ namespace, reason });
    context.log.warn({ error, pod: `${namespace}/${name}` }, 'pod could not be collected');
  }
}

class PodCollector {
  readonly #context: ControllerContext;
  readonly #threshold: number;
  readonly #missingSince = new Map<string, number>();

  constructor(context: ControllerContext, threshold: number) {
    this.#context = context;
    this.#threshold = threshold;
  }

  async #isGone(nodeName: string): Promise<boolean> {
    const now = this.#context.clock.monotonic();
    const since = this.#missingSince.get(nodeName) ?? now;
    this.#missingSince.set(nodeName, since);
    if (now - since < quarantineMs) return false;
    try {
      await this.#context.write.get(nodes, { name: nodeName });
      return false;
    } catch (error) {
      return isStatusError(error, 'NotFound');
    }
  }

  async collect(): Promise<void> {
    const context = this.#context;
    const all = context.read(pods).list();
    for (const pod of surplusTerminated(all, this.#threshold)) await remove(context, pod, 'terminated');
    const gone = new Map<string, Promise<boolean>>();
    for (const pod of all) {
      const nodeName = pod.spec.nodeName ?? '';
      if (nodeName === '') {
        if (isPodTerminating(pod)) await remove(context, pod, 'unscheduled');
        continue;
      }
      const node = context.read(nodes).get(nodeName);
      if (node !== undefined) {
        this.#missingSince.delete(nodeName);
        const outOfService = node.spec?.taints?.some((taint) => taint.key === outOfServiceTaint) === true;
        const ready =
          node.status?.conditions?.find((condition) => condition.type === 'Ready')?.status === 'True';
        if (isPodTerminating(pod) && outOfService && !ready) await remove(context, pod, 'out-of-service');
        continue;
      }
      const verdict = gone.get(nodeName) ?? this.#isGone(nodeName);
      gone.set(nodeName, verdict);
      if (await verdict) await remove(context, pod, 'orphaned', 'PodGC: node no longer exists');
    }
    for (const name of this.#missingSince.keys()) if (!gone.has(name)) this.#missingSince.delete(name);
  }
}

export const podGarbageCollectorController = (threshold: number = defaultTerminatedThreshold): Controller =>
  defineLoop({
    name: 'pod-garbage-collector-controller',
    serviceAccount: 'pod-garbage-collector',
    reads: [pods, nodes],
    access: [may('delete', pods), may('patch', pods, 'status'), may('get', nodes)],
    async run(context) {
      const { clock, signal } = context;
      const collector = new PodCollector(context, threshold);
      while (!signal.aborted) {
        await collector.collect();
        await clock.sleep(checkEveryMs, signal).catch(() => {});
      }
    },
  });
