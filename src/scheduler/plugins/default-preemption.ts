// DefaultPreemption: a pod that fits nowhere takes the place of pods of lower priority; the API server is told in the background.
import { poddisruptionbudgets, pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory, Lister } from '../../client/cache/informer.ts';
import type { Client } from '../../client/client.ts';
import { type EventRecorder, referenceTo } from '../../client/event-recorder.ts';
import type { Logger } from '../../component-base/logger.ts';
import { declareMetrics, exponentialBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';
import { podCondition } from '../../component-helpers/pod-status.ts';
import { noNodesFit } from '../framework/no-nodes-fit.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Nominator } from '../framework/nominator.ts';
import type { FailedSearch, Plugin, PostFilterResult } from '../framework/plugin.ts';
import {
  type Candidate,
  findCandidates,
  type PreemptionLimits,
  pickCandidate,
  priorityOf,
  usualLimits,
} from '../framework/preemption.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { failure, unresolvable, unschedulable } from '../framework/status.ts';

export interface PreemptionDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly metrics: MetricsRegistry;
  readonly informers: InformerFactory;
  readonly nominator: Nominator;
  /** Extenders take candidates away, or name other victims. */
  readonly amongCandidates?:
    | ((pod: Pod, candidates: readonly Candidate[], snapshot: Snapshot) => Promise<readonly Candidate[]>)
    | undefined;
  /** The pod is to be tried again at once: what was begun for it failed, or its room is gone. */
  readonly activate: (pod: Pod) => void;
  /** The pod is not kept out of the queue any more. */
  readonly released: (pod: Pod) => void;
}

/** Evictions of one preemption under way together (upstream: parallelism). */
const mostAtOnce = 16;
const reason = 'PreemptionByScheduler';

const declared = declareMetrics((metrics) => ({
  victims: metrics.histogram(
    'scheduler_preemption_victims',
    'Number of selected preemption victims',
    [],
    exponentialBuckets(1, 2, 7),
  ),
  attempts: metrics.counter(
    'scheduler_preemption_attempts_total',
    'Total preemption attempts in the cluster till now',
    [],
  ),
  executions: metrics.counter(
    'scheduler_preemption_goroutines_execution_total',
    'Number of preemption goroutines executed.',
    ['result'],
  ),
  durations: metrics.histogram(
    'scheduler_preemption_goroutines_duration_seconds',
    'Duration in seconds for running preemption goroutines.',
    ['result'],
    exponentialBuckets(0.01, 2, 20),
  ),
}));

function isEndedByPreemption(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp === undefined) return false;
  const target = podCondition(pod, 'DisruptionTarget');
  return target?.status === 'True' && target.reason === reason;
}

const awaitsVictims = (pod: Pod, node: NodeInfo | undefined): boolean =>
  (node?.pods.values() ?? []).some(
    (other) => priorityOf(other.pod) < priorityOf(pod) && isEndedByPreemption(other.pod),
  );

/** Ends victims through the API server, outside of the scheduling cycle. */
class Evictions {
  readonly #deps: PreemptionDeps;
  readonly #metrics: ReturnType<typeof declared>;
  readonly #pods: Lister<Pod>;
  /** By uid of who waits: the victim that goes last, once it is its turn. */
  readonly #underWay = new Map<string, Pod | undefined>();

  constructor(deps: PreemptionDeps) {
    this.#deps = deps;
    this.#metrics = declared(deps.metrics);
    this.#pods = deps.informers.informer(pods).lister;
  }

  /** Once the last victim is seen to go all are on their way, whether or not the server has answered. */
  isUnderWay(pod: Pod): boolean {
    const uid = pod.metadata.uid ?? '';
    if (!this.#underWay.has(uid)) return false;
    const last = this.#underWay.get(uid);
    if (last === undefined) return true;
    const now = this.#pods.get(last.metadata.name, last.metadata.namespace);
    return now !== undefined && now.metadata.deletionTimestamp === undefined;
  }

  begin(pod: Pod, { node, victims }: Candidate): void {
    this.#metrics.victims.observe({}, victims.length);
    const going = victims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (going.length === 0) return;
    this.#underWay.set(pod.metadata.uid ?? '', undefined);
    void this.#run(pod, node, going);
  }

  async #run(pod: Pod, node: string, victims: readonly Pod[]): Promise<void> {
    const { activate, clock, log, released } = this.#deps;
    const [began, uid] = [clock.monotonic(), pod.metadata.uid ?? ''];
    let result = 'success';
    try {
      await this.#takeNominations(pod, node);
      const last = victims.at(-1)!;
      await fewAtOnce(victims.slice(0, -1), mostAtOnce, (victim) => this.#end(victim, pod, node));
      this.#underWay.set(uid, last);
      await this.#end(last, pod, node);
    } catch (error) {
      result = 'error';
      log.warn({ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, node, error }, 'preemption failed');
    }
    this.#underWay.delete(uid);
    this.#metrics.executions.inc({ result });
    this.#metrics.durations.observe({ result }, (clock.monotonic() - began) / 1000);
    if (result === 'error') activate(pod);
    else released(pod);
  }

  /** Who was promised the node with a lower priority looks for another. */
  async #takeNominations(pod: Pod, node: string): Promise<void> {
    const { activate, client, nominator } = this.#deps;
    for (const { pod: other } of nominator.on(node)) {
      if (priorityOf(other) >= priorityOf(pod)) continue;
      nominator.nominate(other, '');
      const { metadata } = other;
      const body = { metadata: { uid: metadata.uid }, status: { nominatedNodeName: null } };
      await unlessGone(client.patch(pods, metadata, { type: 'strategic', body }, { subresource: 'status' }));
      activate(other);
    }
  }

  async #end(victim: Pod, { metadata: { uid }, spec }: Pod, node: string): Promise<void> {
    const { client, clock, events } = this.#deps;
    const { generation, name, namespace } = victim.metadata;
    const known = podCondition(victim, 'DisruptionTarget');
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason,
      message: `${spec.schedulerName ?? ''}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: known?.status === 'True' ? known.lastTransitionTime : rfc3339(clock.now()),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    const body = { metadata: { uid: victim.metadata.uid }, status: { conditions: [condition] } };
    const how = { subresource: 'status' } as const;
    const isThere =
      (await unlessGone(client.patch(pods, { name, namespace }, { type: 'strategic', body }, how))) &&
      (await unlessGone(
        client.delete(
          pods,
          { name, namespace },
          victim.metadata.uid === undefined ? {} : { preconditions: { uid: victim.metadata.uid } },
        ),
      ));
    if (!isThere) return;
    const message = `Preempted by pod ${uid} on node ${node}`;
    events.event(referenceTo(pods, victim), 'Normal', 'Preempted', message);
  }
}

/** False when the object, or the one of this uid, is gone: then all is well. */
async function unlessGone(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) return false;
    throw error;
  }
}

/** Upstream's reason why a pod may not make room for itself; undefined: it may. */
function ineligible(pod: Pod, node: string, { snapshot, statuses }: FailedSearch): string | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  if (node === '' || statuses.of(node).code === 'UnschedulableAndUnresolvable') return undefined;
  return awaitsVictims(pod, snapshot.get(node))
    ? 'not eligible due to a terminating pod on the nominated node.'
    : undefined;
}

const said = (why: string): PostFilterResult['status'] => unschedulable(`preemption: ${why}`);

export function defaultPreemption(deps: PreemptionDeps, limits: PreemptionLimits = usualLimits): Plugin {
  const { amongCandidates, clock, informers, metrics, nominator, random } = deps;
  const evictions = new Evictions(deps);
  const budgets = informers.informer(poddisruptionbudgets).lister;
  const { attempts } = declared(metrics);
  return {
    name: 'DefaultPreemption',
    // Its refusals end by themselves; what the victims' end means is for those to say that refused the pod.
    requeueOn: [],
    preEnqueue: (pod) =>
      evictions.isUnderWay(pod)
        ? unresolvable('waiting for the preemption for this pod to be finished')
        : undefined,
    postFilter: (state, pod, search) => {
      attempts.inc({});
      const why = ineligible(pod, nominator.nodeOf(pod), search);
      if (why !== undefined) return { status: said(why) };
      const nowMs = clock.now();
      const { found, statuses } = findCandidates(state, pod, search, {
        budgets: () => budgets.list(),
        limits,
        offset: (nodes) => random.uint(nodes),
        nowMs,
      });
      const [broken] = statuses.asked.values().filter(({ code }) => code === 'Error');
      if (found.length === 0 && broken)
        return { status: failure(`preemption: ${broken.reasons.join(', ')}`) };
      if (found.length === 0)
        return { nominatedNode: '', status: said(noNodesFit(search.snapshot.nodes.length, statuses)) };
      const begin = (left: readonly Candidate[]): PostFilterResult => {
        const best = pickCandidate(left, nowMs);
        if (best === undefined) return { status: said('no candidate node for preemption') };
        evictions.begin(pod, best);
        return { nominatedNode: best.node, status: undefined };
      };
      return amongCandidates ? amongCandidates(pod, found, search.snapshot).then(begin) : begin(found);
    },
  };
}
