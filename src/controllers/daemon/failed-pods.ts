// A daemon pod that fails is replaced, and the next one may fail as fast: each node is given longer from time to time,
// as upstream's failedPodsBackoff does. Time comes in.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { DaemonPlan } from './daemon-plan.ts';
import { targetNode } from './node-fit.ts';

const firstMs = 1_000;
const maxMs = 15 * 60_000;

interface Held {
  readonly since: number;
  readonly forMs: number;
}

export class FailedPods {
  readonly #held = new Map<string, Held>();

  /** How long the failed pod of a node stays yet; 0 when it may go now, which counts as one more failure. */
  waitMs(key: string, nowMs: number): number {
    const held = this.#held.get(key);
    const isOld = held !== undefined && nowMs - held.since > 2 * maxMs;
    if (held !== undefined && !isOld && nowMs - held.since < held.forMs)
      return held.since + held.forMs - nowMs;
    const forMs = held === undefined || isOld ? firstMs : Math.min(2 * held.forMs, maxMs);
    this.#held.delete(key);
    this.#held.set(key, { since: nowMs, forMs });
    this.#forgetOld(nowMs);
    return 0;
  }

  /** What was longest ago stands first: the map is in the order of `since`. */
  #forgetOld(nowMs: number): void {
    for (const [key, { since }] of this.#held) {
      if (nowMs - since <= 2 * maxMs) return;
      this.#held.delete(key);
    }
  }
}

export interface HeldPlan {
  readonly plan: DaemonPlan;
  /** Until the first of those that stay may go. */
  readonly waitMs: number | undefined;
}

/** The plan without the failed pods that stay for now. `owner` changes with the DaemonSet's generation. */
export function holdFailedPods(plan: DaemonPlan, owner: string, held: FailedPods, nowMs: number): HeldPlan {
  const staying = new Map<Pod, number>();
  for (const pod of plan.failed) {
    if (pod.status?.phase !== 'Failed') continue;
    const waitMs = held.waitMs(`${owner}/${targetNode(pod)}`, nowMs);
    if (waitMs > 0) staying.set(pod, waitMs);
  }
  if (staying.size === 0) return { plan, waitMs: undefined };
  const goes = (pod: Pod): boolean => !staying.has(pod);
  return {
    plan: { ...plan, remove: plan.remove.filter(goes), failed: plan.failed.filter(goes) },
    waitMs: Math.min(...staying.values()),
  };
}
