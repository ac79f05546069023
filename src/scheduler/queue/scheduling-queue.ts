// Pods that wait for a node: ready to try, backing off, or unschedulable until something changes.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { Heap } from '../../base/heap.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { ClusterEvent, Plugin, PodUpdate, QueuedPod } from '../framework/plugin.ts';
import {
  countIncoming,
  type PendingPods,
  type QueueEvent,
  showPending,
  type WaitingIn,
} from './pending-metrics.ts';

const podBackoff: Backoff = { firstMs: 1_000, longestMs: 10_000 };
/** A pod is tried again after this even when nothing told us to (upstream: 5 minutes). */
const flushUnschedulableAfterMs = 300_000;

interface Waiting {
  readonly queued: QueuedPod;
  readonly since: number;
  /** It was never tried: a plugin keeps it out of the queue. */
  readonly isGated: boolean;
}

export interface SchedulingQueueOptions {
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly profile: string;
  readonly less: (a: QueuedPod, b: QueuedPod) => boolean;
  readonly preEnqueue: readonly Plugin[];
  /** Which plugins' refusals an event may cure. */
  readonly requeueOn: ReadonlyMap<string, readonly ClusterEvent[]>;
  /** Called when `pop` has something. */
  readonly onReady: () => void;
}

const podKey = (pod: Pod): string => `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;

export class SchedulingQueue implements PendingPods {
  readonly #options: SchedulingQueueOptions;
  readonly #active: Heap<QueuedPod>;
  readonly #inActive = new Map<string, QueuedPod>();
  readonly #backoff = new Map<string, { readonly queued: QueuedPod; readonly cancel: () => void }>();
  readonly #unschedulable = new Map<string, Waiting>();
  /** Being tried now, some for minutes: which events came meanwhile is remembered, each once. */
  readonly #inFlight = new Map<string, { readonly queued: QueuedPod; readonly events: Set<ClusterEvent> }>();

  readonly #hide: () => void;

  constructor(options: SchedulingQueueOptions) {
    this.#options = options;
    this.#active = new Heap(options.less);
    this.#hide = showPending(options.metrics, options.profile, this);
  }

  get size(): number {
    return this.#inActive.size + this.#backoff.size + this.#unschedulable.size;
  }

  counts(): Record<WaitingIn, number> {
    const gated = [...this.#unschedulable.values()].filter(({ isGated }) => isGated).length;
    return {
      active: this.#inActive.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size - gated,
      gated,
    };
  }

  refusals(): Map<string, number> {
    const counts = new Map<string, number>();
    const waiting = [...this.#backoff.values(), ...this.#unschedulable.values()].map(({ queued }) => queued);
    for (const { refusedBy } of [...this.#inActive.values(), ...waiting])
      for (const plugin of refusedBy) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
    return counts;
  }

  add(pod: Pod): void {
    const queued: QueuedPod = {
      pod,
      key: podKey(pod),
      priority: pod.spec.priority ?? 0,
      addedAt: this.#options.clock.monotonic(),
      attempts: 0,
      refusedBy: new Set(),
    };
    this.#enqueue(queued, 'UnschedulablePodAdd');
  }

  /** The pod's spec or labels changed. */
  update(pod: Pod, event: PodUpdate): void {
    const key = podKey(pod);
    if (!this.refresh(pod)) {
      this.add(pod);
      return;
    }
    this.#inFlight.get(key)?.events.add(event);
    const waiting = this.#unschedulable.get(key);
    if (!waiting) return;
    this.#unschedulable.delete(key);
    this.#enqueue(waiting.queued, event);
  }

  /**
   * The newest version of a pod that waits, and false when it is not here. Nobody is woken: its status, which the
   * scheduler itself writes, makes no node fit. What was written is known at the next try, and the old version is let go.
   */
  refresh(pod: Pod): boolean {
    const key = podKey(pod);
    const known =
      this.#inActive.get(key) ??
      this.#backoff.get(key)?.queued ??
      this.#unschedulable.get(key)?.queued ??
      this.#inFlight.get(key)?.queued;
    if (!known) return false;
    known.pod = pod;
    return true;
  }

  remove(pod: Pod): void {
    const key = podKey(pod);
    this.#inActive.delete(key);
    this.#backoff.get(key)?.cancel();
    this.#backoff.delete(key);
    this.#unschedulable.delete(key);
    this.#inFlight.delete(key);
  }

  /** The next pod to try, or undefined. */
  pop(): QueuedPod | undefined {
    for (;;) {
      const next = this.#active.pop();
      if (!next) return undefined;
      // Entries that were replaced or removed meanwhile are left in the heap and passed over here.
      if (this.#inActive.get(next.key) !== next) continue;
      this.#inActive.delete(next.key);
      const queued = { ...next, attempts: next.attempts + 1 };
      this.#inFlight.set(next.key, { queued, events: new Set() });
      return queued;
    }
  }

  /** The try is over: bound, or gone. */
  done(queued: QueuedPod): void {
    this.#endTry(queued);
  }

  /**
   * The try failed; the pod waits for an event that may help, or for its back-off. False when it was removed meanwhile:
   * nothing would ever take it out of here again.
   */
  addUnschedulable(queued: QueuedPod, refusedBy: ReadonlySet<string>): boolean {
    const events = this.#endTry(queued);
    if (!events) return false;
    const next: QueuedPod = { ...queued, refusedBy };
    if (refusedBy.size === 0 || [...events].some((event) => this.#mayHelp(next, event)))
      this.#backOff(next, 'ScheduleAttemptFailure');
    else this.#keep(next, { isGated: false }, 'ScheduleAttemptFailure');
    return true;
  }

  /** Something changed in the cluster: pods that it may help get another try. */
  moveAllOn(event: ClusterEvent): void {
    for (const { events } of this.#inFlight.values()) events.add(event);
    for (const [key, waiting] of this.#unschedulable) {
      if (!this.#mayHelp(waiting.queued, event)) continue;
      this.#unschedulable.delete(key);
      const waitedMs = this.#options.clock.monotonic() - waiting.since;
      if (waitedMs >= this.#backoffMs(waiting.queued)) this.#enqueue(waiting.queued, event);
      else this.#backOff(waiting.queued, event, this.#backoffMs(waiting.queued) - waitedMs);
    }
  }

  /** Pods that waited too long are tried without a reason; called now and then. */
  flush(): void {
    const now = this.#options.clock.monotonic();
    for (const [key, waiting] of this.#unschedulable) {
      if (now - waiting.since < flushUnschedulableAfterMs) continue;
      this.#unschedulable.delete(key);
      this.#enqueue(waiting.queued, 'UnschedulableTimeout');
    }
  }

  close(): void {
    this.#hide();
    for (const { cancel } of this.#backoff.values()) cancel();
    this.#backoff.clear();
  }

  /** What came during the try, unless it ended before: the pod is gone, and another of its name may be tried by now. */
  #endTry(queued: QueuedPod): ReadonlySet<ClusterEvent> | undefined {
    const tried = this.#inFlight.get(queued.key);
    if (tried?.queued !== queued) return undefined;
    this.#inFlight.delete(queued.key);
    return tried.events;
  }

  #mayHelp(queued: QueuedPod, event: ClusterEvent): boolean {
    if (event === 'ForceActivate') return true;
    for (const plugin of queued.refusedBy) {
      const events = this.#options.requeueOn.get(plugin);
      if (!events || events.includes(event)) return true;
    }
    return false;
  }

  #backoffMs(queued: QueuedPod): number {
    return backoffMs(podBackoff, queued.attempts);
  }

  /** Until an event that may help. */
  #keep(queued: QueuedPod, { isGated }: Pick<Waiting, 'isGated'>, event: QueueEvent): void {
    this.#unschedulable.set(queued.key, { queued, since: this.#options.clock.monotonic(), isGated });
    countIncoming(this.#options.metrics, isGated ? 'gated' : 'unschedulable', event);
  }

  #backOff(queued: QueuedPod, event: QueueEvent, ms = this.#backoffMs(queued)): void {
    const cancel = this.#options.clock.timer(ms, () => {
      const waiting = this.#backoff.get(queued.key);
      this.#backoff.delete(queued.key);
      if (waiting) this.#enqueue(waiting.queued, 'BackoffComplete');
    });
    this.#backoff.set(queued.key, { queued, cancel });
    countIncoming(this.#options.metrics, 'backoff', event);
  }

  #enqueue(waiting: QueuedPod, event: QueueEvent): void {
    const { clock, metrics, onReady, preEnqueue } = this.#options;
    for (const plugin of preEnqueue) {
      if (plugin.preEnqueue?.(waiting.pod) === undefined) continue;
      this.#keep({ ...waiting, refusedBy: new Set([plugin.name]) }, { isGated: true }, event);
      return;
    }
    // Whoever waited behind a gate did not wait for the scheduler.
    const queued = waiting.attempts === 0 ? { ...waiting, addedAt: clock.monotonic() } : waiting;
    this.#inActive.set(queued.key, queued);
    this.#active.push(queued);
    countIncoming(metrics, 'active', event);
    onReady();
  }
}
