// Writes into pods why no node takes them: PodScheduled=False.
import { pods } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { type Clock, rfc3339 } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';

/** Ten thousand at once would be refused with 429 for the most part, and keep users' requests waiting. */
const mostAtOnce = 16;
/** After a 429. */
const pauseMs = 1_000;

export interface Refusal {
  /** Upstream's PodReasonUnschedulable, and PodReasonSchedulerError when the try itself failed. */
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** '' takes a nomination back, undefined leaves it. */
  readonly nominatedNode?: string | undefined;
}

export interface RefusalWriterDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
}

const how = { subresource: 'status', unread: true } as const;

const scheduledConditionOf = (pod: Pod) =>
  pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled');

function isKnown(pod: Pod, { reason, message, nominatedNode }: Refusal): boolean {
  const known = scheduledConditionOf(pod);
  return (
    known?.status === 'False' &&
    known.reason === reason &&
    known.message === message &&
    (nominatedNode === undefined || nominatedNode === (pod.status?.nominatedNodeName ?? ''))
  );
}

function statusOf(pod: Pod, { reason, message, nominatedNode }: Refusal, now: string): object {
  const known = scheduledConditionOf(pod);
  const since = known?.status === 'False' ? known.lastTransitionTime : undefined;
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime: since ?? now,
  };
  return {
    conditions: [condition],
    ...(nominatedNode === undefined
      ? {}
      : { nominatedNodeName: nominatedNode === '' ? null : nominatedNode }),
  };
}

interface Writing {
  readonly done: Promise<void>;
  isWanted: boolean;
}

/** A few writes are under way together; of a pod that waits for its turn only the last refusal is written. */
export class RefusalWriter {
  readonly #deps: RefusalWriterDeps;
  /** By uid, in the order in which they came. */
  readonly #waiting = new Map<string, { readonly pod: Pod; readonly refusal: Refusal }>();
  readonly #underWay = new Map<string, Writing>();
  /** Set while the server has asked for less. */
  #endPause: (() => void) | undefined;
  #isStopped = false;

  constructor(deps: RefusalWriterDeps) {
    this.#deps = deps;
  }

  /** What the pod says already is not written again. */
  write(pod: Pod, refusal: Refusal): void {
    const uid = pod.metadata.uid ?? '';
    this.#waiting.delete(uid);
    if (this.#isStopped || isKnown(pod, refusal)) return;
    this.#waiting.set(uid, { pod, refusal });
    this.#next();
  }

  /** The pod is placed or gone: what waits is not written. Resolves when no write of it is under way any more. */
  forget(pod: Pod): Promise<void> | undefined {
    const uid = pod.metadata.uid ?? '';
    this.#waiting.delete(uid);
    const writing = this.#underWay.get(uid);
    if (writing) writing.isWanted = false;
    return writing?.done;
  }

  stop(): void {
    this.#isStopped = true;
    this.#endPause?.();
    this.#waiting.clear();
  }

  #next(): void {
    if (this.#endPause || this.#isStopped) return;
    for (const [uid, { pod, refusal }] of this.#waiting) {
      if (this.#underWay.size >= mostAtOnce) return;
      // Two writes about one pod could change places.
      if (this.#underWay.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#underWay.set(uid, { done: this.#write(uid, pod, refusal), isWanted: true });
    }
  }

  async #write(uid: string, pod: Pod, refusal: Refusal): Promise<void> {
    const isRefused = (await this.#patch(pod, refusal)) === 'later';
    const isWanted = this.#underWay.get(uid)?.isWanted ?? false;
    this.#underWay.delete(uid);
    if (isRefused) this.#pause();
    // Unless a newer refusal came meanwhile: that one is written.
    if (isRefused && isWanted && !this.#waiting.has(uid)) this.#waiting.set(uid, { pod, refusal });
    this.#next();
  }

  #pause(): void {
    if (this.#isStopped) return;
    this.#endPause ??= this.#deps.clock.timer(pauseMs, () => {
      this.#endPause = undefined;
      this.#next();
    });
  }

  /** Never rejects: a pod whose condition could not be written is scheduled all the same. */
  async #patch(pod: Pod, refusal: Refusal): Promise<'over' | 'later'> {
    const { client, clock, log } = this.#deps;
    const { name, namespace, uid } = pod.metadata;
    const body = { metadata: { uid }, status: statusOf(pod, refusal, rfc3339(clock.now())) };
    try {
      await client.patch(pods, pod.metadata, { type: 'strategic', body }, how);
    } catch (error) {
      if (isStatusError(error, 'TooManyRequests')) return 'later';
      if (!isStatusError(error, 'NotFound') && !this.#isStopped)
        log.warn({ pod: `${namespace}/${name}`, error }, 'could not write PodScheduled=False');
    }
    return 'over';
  }
}
