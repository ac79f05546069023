// Pods that wait for a node: ready to try, backing off, or unschedulable until something changes.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { Heap } from '../../base/heap.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { Change, ClusterEvent, Hint, Plugin, PodUpdate, QueuedPod } from '../framework/plugin.ts';
import {
  countIncoming,
  type PendingPods,
  type QueueEvent,
  showPending,
  type WaitingIn,
} from './pending-metrics.ts';

const usualBackoff: Backoff = { firstMs: 1_000, longestMs: 10_000 };
/** A pod is tried again after this even when nothing told us to (upstream: 5 minutes). */
const flushUnschedulableAfterMs = 300_000;

interface Waiting {
  readonly queued: QueuedPod;
  readonly since: number;
  /** A plugin keeps it out of the queue, whoever refused it before. */
  readonly gatedBy?: string | undefined;
}

interface Happened {
  readonly event: ClusterEvent;
  readonly change: Change;
}

interface InFlight {
  readonly queued: QueuedPod;
  /** What came meanwhile; undefined when nothing of it could be of help any more. */
  happened: Happened[] | undefined;
  /** More came than is remembered. */
  isFull: boolean;
}

/** A try may wait for others for minutes. After so many events one of them has helped. */
const mostRemembered = 1_000;
const nothing: Change = {};

/** What the queue asks of the profile that a pod is scheduled by. */
export interface QueueProfile {
  readonly name: string;
  readonly preEnqueue: readonly Plugin[];
  /** Which plugins' refusals an event may cure. */
  readonly requeueOn: ReadonlyMap<string, readonly (ClusterEvent | Hint)[]>;
}

export interface SchedulingQueueOptions {
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly backoff?: Backoff;
  readonly less: (a: QueuedPod, b: QueuedPod) => boolean;
  readonly profileOf: (pod: Pod) => QueueProfile;
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
  /** Being tried now, some for minutes. */
  readonly #inFlight = new Map<string, InFlight>();

  readonly #hide: () => void;

  constructor(options: SchedulingQueueOptions) {
    this.#options = options;
    this.#active = new Heap(options.less);
    this.#hide = showPending(options.metrics, this);
  }

  get size(): number {
    return this.#inActive.size + this.#backoff.size + this.#unschedulable.size;
  }

  counts(): Record<WaitingIn, number> {
    const gated = [...this.#unschedulable.values()].filter(({ gatedBy }) => gatedBy !== undefined).length;
    return {
      active: this.#inActive.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size - gated,
      gated,
    };
  }

  refusals(): Map<string, Map<string, number>> {
    const profiles = new Map<string, Map<string, number>>();
    const waiting = [...this.#backoff.values(), ...this.#unschedulable.values()].map(({ queued }) => queued);
    for (const { pod, refusedBy } of [...this.#inActive.values(), ...waiting]) {
      if (refusedBy.size === 0) continue;
      const { name } = this.#options.profileOf(pod);
      const counts = profiles.get(name) ?? new Map<string, number>();
      profiles.set(name, counts);
      for (const plugin of refusedBy) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
    }
    return profiles;
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
  update(pod: Pod, event: PodUpdate, old?: Pod): void {
    const key = podKey(pod);
    if (!this.refresh(pod)) {
      this.add(pod);
      return;
    }
    const change = { oldPod: old, pod };
    this.#remember(this.#inFlight.get(key), { event, change });
    const waiting = this.#unschedulable.get(key);
    if (!waiting || !this.#mayHelp(waiting, { event, change })) return;
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
      this.#inFlight.set(next.key, { queued, happened: [], isFull: false });
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
    const tried = this.#endTry(queued);
    if (!tried) return false;
    const next: QueuedPod = { ...queued, refusedBy };
    const { happened = [], isFull } = tried;
    if (refusedBy.size === 0 || isFull || happened.some((one) => this.#mayHelp({ queued: next }, one)))
      this.#backOff(next, 'ScheduleAttemptFailure');
    else this.#keep(next, undefined, 'ScheduleAttemptFailure');
    return true;
  }

  /** A pod that is being bound fails for reasons of its own, if at all: what happens is not remembered for it. */
  found(queued: QueuedPod): void {
    const tried = this.#inFlight.get(queued.key);
    if (tried?.queued === queued) tried.happened = undefined;
  }

  /** Something changed in the cluster: pods that it may help get another try. */
  moveAllOn(event: ClusterEvent, change: Change = nothing): void {
    const happened = { event, change };
    for (const tried of this.#inFlight.values()) this.#remember(tried, happened);
    // First found, then woken: whom a gate holds still comes back among them, and would be found again without end.
    const helped = [...this.#unschedulable].filter(([, waiting]) => this.#mayHelp(waiting, happened));
    for (const [key, waiting] of helped) this.#wake(key, waiting, event);
  }

  /** A pod that waits is tried at once. */
  activate(pod: Pod): void {
    const key = podKey(pod);
    const backing = this.#backoff.get(key);
    backing?.cancel();
    this.#backoff.delete(key);
    const queued = backing?.queued ?? this.#unschedulable.get(key)?.queued;
    this.#unschedulable.delete(key);
    if (queued) this.#enqueue(queued, 'ForceActivate');
  }

  /** The plugin keeps the pod out no more: if something woke it meanwhile, which was after its back-off, it is awake now. */
  released(pod: Pod, plugin: string): void {
    const key = podKey(pod);
    const waiting = this.#unschedulable.get(key);
    if (waiting?.gatedBy !== plugin) return;
    this.#unschedulable.delete(key);
    this.#enqueue(waiting.queued, 'ForceActivate');
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
  #endTry(queued: QueuedPod): InFlight | undefined {
    const tried = this.#inFlight.get(queued.key);
    if (tried?.queued !== queued) return undefined;
    this.#inFlight.delete(queued.key);
    return tried;
  }

  #remember(tried: InFlight | undefined, happened: Happened): void {
    if (tried?.happened === undefined) return;
    // Each of those that say nothing more once.
    if (happened.change === nothing && tried.happened.some(({ event }) => event === happened.event)) return;
    if (tried.happened.length < mostRemembered) tried.happened.push(happened);
    else tried.isFull = true;
  }

  #wake(key: string, { queued, since }: Waiting, event: ClusterEvent): void {
    this.#unschedulable.delete(key);
    const waitedMs = this.#options.clock.monotonic() - since;
    const leftMs = queued.attempts === 0 ? 0 : this.#backoffMs(queued) - waitedMs;
    if (leftMs <= 0) this.#enqueue(queued, event);
    else this.#backOff(queued, event, leftMs);
  }

  #mayHelp({ queued, gatedBy }: Pick<Waiting, 'queued' | 'gatedBy'>, { change, event }: Happened): boolean {
    if (event === 'ForceActivate') return true;
    // Whoever keeps it out says when that ends.
    if (gatedBy !== undefined && queued.attempts === 0) return this.#cures(gatedBy, queued, event, change);
    for (const plugin of queued.refusedBy) if (this.#cures(plugin, queued, event, change)) return true;
    return false;
  }

  #cures(plugin: string, { pod }: QueuedPod, event: ClusterEvent, change: Change): boolean {
    const known = this.#options.profileOf(pod).requeueOn.get(plugin);
    return (
      known?.some((one) =>
        typeof one === 'string' ? one === event : one.on.includes(event) && one.helps(pod, change),
      ) ?? true
    );
  }

  /** A pod that was never tried, as one behind a gate, waits for nothing, as upstream. */
  #backoffMs(queued: QueuedPod): number {
    if (queued.attempts === 0) return 0;
    return backoffMs(this.#options.backoff ?? usualBackoff, queued.attempts);
  }

  /** Until an event that may help. */
  #keep(queued: QueuedPod, gatedBy: string | undefined, event: QueueEvent): void {
    this.#unschedulable.set(queued.key, { queued, since: this.#options.clock.monotonic(), gatedBy });
    countIncoming(this.#options.metrics, gatedBy === undefined ? 'unschedulable' : 'gated', event);
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
    const { clock, metrics, onReady, profileOf } = this.#options;
    for (const plugin of profileOf(waiting.pod).preEnqueue) {
      if (plugin.preEnqueue?.(waiting.pod) === undefined) continue;
      this.#keep({ ...waiting, refusedBy: new Set([...waiting.refusedBy, plugin.name]) }, plugin.name, event);
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
