// The worker of one pod: looks, does what its state asks for, reports; one pass at a time, interrupted by whatever ends the pod.
import { pods } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { untilAborted } from '../base/until-aborted.ts';
import { dependsOnNode } from './admit-handlers.ts';
import { type KubeletContext, podEvent } from './kubelet-context.ts';
import type { PassKind } from './metrics/pass-durations.ts';
import type { Rejection } from './node-os/node-os.ts';
import type { ObservedPod } from './observed-pod.ts';
import { PassLoop } from './pass-loop.ts';
import { failureText, podText, podUid } from './pod-format.ts';
import { removeContainers, removeOld, removeSandboxes } from './pod-garbage.ts';
import { PodObserver } from './pod-observer.ts';
import { PodResize, type ResizeRefusal } from './pod-resize.ts';
import { PodRun } from './pod-run.ts';
import { podAsTold, podStatusFrom, type Verdict } from './pod-status.ts';
import { newWorker, transition, type WorkerEvent, type WorkerState } from './pod-worker-state.ts';
import { podCgroup } from './resources/qos.ts';
import type { ResizeRequest } from './resources/resize-order.ts';
import { killContainers, podGraceSeconds, stopSandboxes } from './runtime/kill-container.ts';
import { PreStopHooks } from './runtime/pre-stop-hooks.ts';

export interface PodWorkerOptions {
  /** Called when everything of the pod is gone from the node. */
  readonly done: (uid: string) => void;
  /** Refuses a pod that the node can't take. */
  readonly admit: (pod: Pod) => Rejection | undefined;
  /** Refuses what a pod that runs asks for now. */
  readonly admitResize: (pod: Pod) => ResizeRefusal | undefined;
  /** Sees what the API says of the node now; throws when that can't be had. */
  readonly lookAtNode: () => Promise<void>;
  /** There may be room for what waits, or more that waits. */
  readonly roomChanged: () => void;
}

/** Everything of a pod that somebody else decides. */
function wishOf(pod: Pod): string {
  const { labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const gates = (pod.spec.readinessGates ?? []).map((g) =>
    pod.status?.conditions?.find((c) => c.type === g.conditionType),
  );
  return JSON.stringify([
    pod.spec,
    labels,
    annotations,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    gates,
    pod.status?.phase === 'Failed',
  ]);
}

export class PodWorker {
  readonly uid: string;
  /** As the API has it. */
  #asked: Pod;
  /** As the node holds it: with what it was given. */
  #pod: Pod;
  #state: WorkerState = newWorker;
  readonly #ctx: KubeletContext;
  readonly #options: PodWorkerOptions;
  readonly #loop: PassLoop;
  readonly #observer: PodObserver;
  readonly #hooks: PreStopHooks;
  readonly #resize: PodResize;
  readonly #run: PodRun;
  readonly #firstSeenMs: number;
  readonly #emptied = Promise.withResolvers<void>();
  #kind: PassKind = 'create';

  constructor(ctx: KubeletContext, pod: Pod, options: PodWorkerOptions) {
    this.#ctx = ctx;
    this.#asked = pod;
    this.#pod = pod;
    this.uid = podUid(pod);
    this.#options = options;
    this.#firstSeenMs = ctx.clock.now();
    this.#loop = new PassLoop({
      clock: ctx.clock,
      pass: (signal) => ctx.passes.timed(this.#nextKind(), () => this.#pass(signal)),
      failed: (error) =>
        ctx.log.warn({ error, pod: podText(this.#pod) }, `pod sync failed: ${failureText(error)}`),
    });
    this.#observer = new PodObserver(ctx);
    this.#hooks = new PreStopHooks(ctx);
    this.#resize = new PodResize(ctx);
    this.#run = new PodRun(ctx, {
      hooks: this.#hooks,
      resize: this.#resize,
      publish: () => this.#publish(false),
      wakeIn: (ms) => this.#loop.lookIn(ms),
    });
    this.#happened(this.#wish());
  }

  get pod(): Pod {
    return this.#pod;
  }
  get observed(): ObservedPod {
    return this.#observer.last;
  }
  /** Nothing of it is to run any more. */
  get isEnding(): boolean {
    return this.#state.kind !== 'syncing';
  }
  get isTerminated(): boolean {
    return this.#state.kind === 'terminated' || this.#state.kind === 'gone';
  }
  /** Whether it counts beside others: it was let in, now or by a kubelet of before, and is not over. */
  get hasPlace(): boolean {
    if (this.isTerminated) return false;
    return this.#resize.isAdmitted || this.#asked.status?.startTime !== undefined;
  }

  /** The order in which those that wait for more are asked; undefined: it asks for nothing else than it has. */
  get resizeRequest(): ResizeRequest | undefined {
    if (this.isEnding || !this.#resize.isWanted(this.#asked)) return undefined;
    return {
      pod: this.#asked,
      grows: this.#resize.asksForMore(this.#asked),
      sinceMs: this.#resize.pendingSinceMs ?? this.#ctx.clock.now(),
    };
  }

  /** Gives it what it asks for, or says why not. */
  considerResize(): void {
    const refusal = this.#options.admitResize(this.#asked);
    if (refusal) this.#resize.refused(this.#asked, refusal);
    else this.#resize.granted(this.#asked);
    this.#pod = this.#resize.held(this.#asked);
    this.wake();
  }

  update(pod: Pod): void {
    const before = wishOf(this.#asked);
    this.#take(pod);
    this.#ctx.status.seen(pod);
    // Our own status writes come back as updates; they ask for nothing.
    if (wishOf(pod) === before) return;
    if (this.#resize.isWanted(pod)) this.#options.roomChanged();
    else this.#resize.nothingWanted();
    this.#run.volumesChanged();
    if (this.#kind === 'sync') this.#kind = 'update';
    this.#happened(this.#wish());
  }

  /** The API has no such pod any more. */
  removed(pod: Pod): void {
    this.#take(pod);
    this.#happened({ kind: 'removed', graceSeconds: podGraceSeconds(pod) });
  }

  /** Ends the pod with a verdict; resolves once nothing of it takes room on the node's disk. */
  evict(verdict: Verdict, graceSeconds: number): Promise<void> {
    this.#happened({ kind: 'evicted', verdict, graceSeconds });
    return this.#emptied.promise;
  }

  objectsChanged(): void {
    this.#run.volumesChanged();
    this.wake();
  }

  wake(): void {
    this.#happened({ kind: 'changed' });
  }

  /** The agent leaves; what runs goes on running. */
  stop(): void {
    this.#loop.stop();
    this.#hooks.stop();
  }

  #take(pod: Pod): void {
    this.#asked = pod;
    this.#pod = this.#resize.held(pod);
  }

  #wish(): WorkerEvent {
    return this.#pod.metadata.deletionTimestamp === undefined
      ? { kind: 'changed' }
      : { kind: 'deleted', graceSeconds: podGraceSeconds(this.#pod) };
  }

  #happened(event: WorkerEvent): void {
    const { state, effects } = transition(this.#state, event);
    this.#state = state;
    if (effects.includes('interrupt')) this.#loop.interrupt();
    if (effects.includes('look')) this.#loop.look();
    if (!effects.includes('done')) return;
    this.stop();
    this.#emptied.resolve();
    this.#options.done(this.uid);
  }

  #nextKind(): PassKind {
    const kind = this.#kind;
    this.#kind = 'sync';
    return kind;
  }

  /** One after the other as far as the state goes: what ends in this pass is taken down in it. */
  async #pass(signal: AbortSignal): Promise<void> {
    await this.#observer.look(this.#pod, signal);
    if (this.#state.kind === 'syncing') await this.#sync(signal);
    signal.throwIfAborted();
    if (this.#state.kind === 'terminating') await this.#terminate(this.#state.graceSeconds, signal);
    if (this.#state.kind !== 'terminated') return;
    if (this.#state.api === 'deleted') await this.#deleteFromApi();
    else if (this.#state.api === 'removed') await this.#cleanUp();
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const phase = this.#ctx.status.get(this.uid)?.phase ?? this.#pod.status?.phase;
    if (isOver(phase)) return this.#over();
    const verdict = (await this.#rejection(signal)) ?? this.#overdue();
    if (verdict) return this.#over(verdict);
    // What died while nobody looked (a cold start) is told before it takes its time to start again.
    this.#publish(false);
    const look = (): Promise<ObservedPod> => this.#observer.look(this.#pod, signal);
    const result = await this.#run.step(this.#pod, look, this.observed, signal);
    this.#publish(false);
    if (result === 'finished') return this.#over();
    await removeOld(this.#ctx.cri.runtime, this.observed);
  }

  #over(verdict?: Verdict): void {
    const graceSeconds = podGraceSeconds(this.#pod);
    this.#happened({ kind: 'over', graceSeconds, ...(verdict ? { verdict } : {}) });
  }

  /** Only new pods are asked: what runs already was admitted once. */
  async #rejection(signal: AbortSignal): Promise<Verdict | undefined> {
    if (this.#state.kind !== 'syncing' || this.#state.admitted) return undefined;
    const phase = this.#pod.status?.phase;
    const isNew = this.observed.sandboxes.length === 0 && (phase === undefined || phase === 'Pending');
    let rejection = isNew ? this.#options.admit(this.#pod) : undefined;
    if (rejection && dependsOnNode(rejection)) {
      await untilAborted(this.#options.lookAtNode(), signal);
      rejection = this.#options.admit(this.#pod);
    }
    if (!rejection) {
      this.#resize.admitted(this.#asked, isNew);
      this.#pod = this.#resize.held(this.#asked);
      this.#happened({ kind: 'admitted' });
      if (this.#resize.isWanted(this.#asked)) this.#options.roomChanged();
      return undefined;
    }
    const { reason, message } = rejection;
    podEvent(this.#ctx, this.#pod, { type: 'Warning', reason, message });
    return { reason, message: `Pod was rejected: ${message}`, rejected: true };
  }

  #overdue(): Verdict | undefined {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined) return undefined;
    const start = Date.parse(this.#pod.status?.startTime ?? '') || this.#firstSeenMs;
    const left = start + Number(seconds) * 1000 - this.#ctx.clock.now();
    if (left > 0) {
      this.#loop.lookIn(left + 1);
      return undefined;
    }
    const reason = 'DeadlineExceeded';
    const message = 'Pod was active on the node longer than the specified deadline';
    podEvent(this.#ctx, this.#pod, { type: 'Normal', reason, message });
    return { reason, message };
  }

  #publish(terminal: boolean): void {
    const { prober, nodeIPs, runtimeName, clock, status } = this.#ctx;
    const state = this.#state;
    if (state.kind === 'gone' || (state.kind !== 'syncing' && state.api === 'removed')) return;
    // What is over and gone from the runtime is not told anew by a kubelet that has just started.
    if (isOver(this.#pod.status?.phase) && isNothing(this.observed)) return;
    status.set(
      this.#pod,
      podStatusFrom({
        pod: podAsTold(this.#pod, status.get(this.uid)),
        observed: this.observed,
        waiting: this.#run.waiting,
        terminationMessage: (c) => this.#observer.messageOf(c.id),
        readiness: (id) => prober.readiness(id),
        startup: (id) => prober.startup(id),
        terminal,
        nodeIPs,
        runtimeName,
        startTimeMs: this.#firstSeenMs,
        nowMs: clock.now(),
        verdict: state.kind === 'syncing' ? undefined : state.verdict,
        resize: this.#resize.conditions(this.#asked.status?.conditions),
      }),
    );
  }

  async #terminate(graceSeconds: number, signal: AbortSignal): Promise<void> {
    const ctx = this.#ctx;
    ctx.prober.stopLiveness(this.uid);
    this.#publish(false);
    await killContainers(ctx, this.#pod, this.observed, { graceSeconds, hooks: this.#hooks, signal });
    await stopSandboxes(ctx, this.observed, signal);
    const { containers } = await this.#observer.look(this.#pod, signal);
    // Begun a moment before its start was interrupted, and seen by nobody until now.
    if (containers.some((c) => c.state === 'running'))
      throw new Error('containers run although all were stopped');
    ctx.prober.remove(this.uid);
    this.#publish(true);
    // Also what left its container (a pod in the machine's process namespace): nothing of it works in its volumes any more.
    await ctx.cgroups?.remove(podCgroup(this.#pod, ctx.cgroupRoot));
    await ctx.volumes.tearDown(this.#pod);
    // As upstream, at once: it was evicted for what lies there, and the API may not take its status before.
    if (this.#state.kind === 'terminating' && this.#state.verdict?.reason === 'Evicted')
      await this.#removeContents();
    this.#emptied.resolve();
    await ctx.status.written(this.uid);
    this.#happened({ kind: 'stopped' });
    this.#options.roomChanged();
  }

  async #deleteFromApi(): Promise<void> {
    await this.#ctx.status.written(this.uid);
    const { name = '', namespace } = this.#pod.metadata;
    try {
      await this.#ctx.client.delete(
        pods,
        { name, namespace },
        { gracePeriodSeconds: 0, preconditions: { uid: this.uid } },
      );
    } catch (error) {
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
    }
  }

  /** After the API forgot the pod: containers, sandboxes, folders, logs. */
  async #cleanUp(): Promise<void> {
    await this.#removeContents();
    await removeSandboxes(this.#ctx.cri.runtime, this.observed);
    await this.#ctx.storage.remove(this.uid);
    this.#ctx.status.forget(this.uid);
    this.#happened({ kind: 'cleared' });
  }

  /** Containers with what they wrote, and their logs. */
  async #removeContents(): Promise<void> {
    await removeContainers(this.#ctx.cri.runtime, this.observed);
    await this.#ctx.storage.removeLogs(this.#pod);
  }
}

const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';
const isNothing = (observed: ObservedPod): boolean =>
  observed.sandboxes.length + observed.containers.length === 0;
