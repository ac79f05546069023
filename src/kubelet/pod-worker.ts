// The worker of one pod: looks, decides, acts, reports; one step at a time, woken by whatever changes.
import { pods } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { isGrpcError } from '../wire/grpc-client.ts';
import { type KubeletContext, podEvent } from './kubelet-context.ts';
import type { Rejection } from './node-os/node-os.ts';
import {
  type ExitedCache,
  nothingObserved,
  type ObservedContainer,
  type ObservedPod,
  observePod,
  runningContainers,
} from './observed-pod.ts';
import { failureText, podText, podUid } from './pod-format.ts';
import { PodRun } from './pod-run.ts';
import { podStatusFrom, type Verdict } from './pod-status.ts';
import { podCgroup } from './resources/qos.ts';
import { killContainers, podGraceSeconds, stopSandboxes } from './runtime/kill-container.ts';
import { terminationMessage } from './runtime/termination-message.ts';

export interface PodWorkerOptions {
  /** Called when everything of the pod is gone from the node. */
  readonly done: (uid: string) => void;
  /** Refuses a pod that the node can't take. */
  readonly admit: (pod: Pod) => Rejection | undefined;
}

/** Containers of one name that are kept after their end: the last one and the one before. */
const keptDead = 2;
const errorRetryMs = 2000;

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
  #pod: Pod;
  readonly #ctx: KubeletContext;
  readonly #options: PodWorkerOptions;
  readonly #run: PodRun;
  readonly #exited: ExitedCache = new Map();
  readonly #messages = new Map<string, string | undefined>();
  readonly #exitCodes = new Map<string, number>();
  readonly #firstSeenMs: number;
  #observed: ObservedPod = nothingObserved;
  #verdict: Verdict | undefined;
  readonly #emptied = Promise.withResolvers<void>();
  /** Somebody wants it to end: what is under way for it does not go on until its end. */
  readonly #toEnd = new AbortController();
  #admitted = false;
  #removed = false;
  #terminated = false;
  #forcedGrace: number | undefined;
  #shortestGrace = Number.POSITIVE_INFINITY;
  #busy = false;
  #again = false;
  #stopped = false;
  #cancelTimer: (() => void) | undefined;
  #wakeAt: number = Number.POSITIVE_INFINITY;

  constructor(ctx: KubeletContext, pod: Pod, options: PodWorkerOptions) {
    this.#ctx = ctx;
    this.#pod = pod;
    this.uid = podUid(pod);
    this.#options = options;
    this.#firstSeenMs = ctx.clock.now();
    this.#run = new PodRun(ctx, {
      publish: () => this.#publish(false),
      wakeIn: (ms) => this.#wakeIn(ms),
    });
  }

  get pod(): Pod {
    return this.#pod;
  }
  get observed(): ObservedPod {
    return this.#observed;
  }
  /** Nothing of it is to run any more. */
  get isEnding(): boolean {
    return this.#terminating || this.#terminated || this.#removed || this.#verdict !== undefined;
  }
  get isTerminated(): boolean {
    return this.#terminated;
  }

  update(pod: Pod): void {
    const before = wishOf(this.#pod);
    this.#pod = pod;
    this.#ctx.status.seen(pod);
    // Our own status writes come back as updates; they ask for nothing.
    if (wishOf(pod) === before) return;
    this.#run.volumesChanged();
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#toEnd.abort();
      this.#shorten(podGraceSeconds(pod));
    }
    this.wake();
  }

  /** The API has no such pod any more. */
  removed(pod: Pod | undefined): void {
    if (pod) this.#pod = pod;
    this.#removed = true;
    this.#toEnd.abort();
    if (pod?.metadata.deletionGracePeriodSeconds !== undefined) this.#shorten(podGraceSeconds(this.#pod));
    this.wake();
  }

  /** Ends the pod with a verdict; resolves once nothing of it takes room on the node's disk. */
  evict(verdict: Verdict, graceSeconds: number): Promise<void> {
    this.#verdict ??= verdict;
    this.#forcedGrace = graceSeconds;
    this.#toEnd.abort();
    this.wake();
    return this.#emptied.promise;
  }

  objectsChanged(): void {
    this.#run.volumesChanged();
    this.wake();
  }

  wake(): void {
    if (this.#stopped) return;
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    void this.#loop();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#sync();
      } catch (error) {
        if (this.#stopped) break;
        this.#ctx.log.warn({ error, pod: podText(this.#pod) }, `pod sync failed: ${failureText(error)}`);
        this.#wakeIn(errorRetryMs);
      }
    } while (this.#again && !this.#stopped);
    this.#busy = false;
  }

  /** The earliest of all wishes counts; who wants a later look asks again then. */
  #wakeIn(ms: number): void {
    const at = this.#ctx.clock.monotonic() + ms;
    if (this.#stopped || at >= this.#wakeAt) return;
    this.#cancelTimer?.();
    this.#wakeAt = at;
    // Timers of more than 2^31 ms fire at once; a look a day does no harm.
    this.#cancelTimer = this.#ctx.clock.timer(Math.min(Math.max(ms, 0), 86_400_000), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.wake();
    });
  }

  async #observe(): Promise<ObservedPod> {
    const seen = await observePod(this.#ctx.cri.runtime, this.uid, this.#exited);
    const containers = await Promise.all(seen.containers.map((c) => this.#completed(c)));
    this.#observed = { sandboxes: seen.sandboxes, containers };
    return this.#observed;
  }

  /** Adds what the runtime does not know: full exit codes, the system's reasons, the last words. */
  async #completed(c: ObservedContainer): Promise<ObservedContainer> {
    if (c.state !== 'exited') return c;
    if (!this.#messages.has(c.id)) {
      this.#messages.set(c.id, await terminationMessage(this.#ctx.storage, this.#pod, c));
      const full = await this.#ctx.fullExitCode(c.id);
      // The API holds a signed number: 0xC000013A is -1073741510, as on a real Windows node.
      if (full !== undefined) this.#exitCodes.set(c.id, full | 0);
    }
    const exitCode = this.#exitCodes.get(c.id) ?? c.exitCode;
    return { ...c, exitCode, reason: this.#ctx.nodeOs.terminatedReason(c.reason, exitCode) };
  }

  #publish(terminal: boolean): void {
    const { prober, nodeIPs, runtimeName, clock, status } = this.#ctx;
    if (this.#removed) return;
    // What is over and gone from the runtime is not told anew by a kubelet that has just started.
    if (isOver(this.#pod.status?.phase) && isNothing(this.#observed)) return;
    const known = status.get(this.uid);
    const pod = known ? { ...this.#pod, status: { ...this.#pod.status, ...known } } : this.#pod;
    status.set(
      this.#pod,
      podStatusFrom({
        pod,
        observed: this.#observed,
        waiting: this.#run.waiting,
        terminationMessage: (c) => this.#messages.get(c.id),
        readiness: (id) => prober.readiness(id),
        startup: (id) => prober.startup(id),
        terminal,
        nodeIPs,
        runtimeName,
        startTimeMs: this.#firstSeenMs,
        nowMs: clock.now(),
        verdict: this.#verdict,
      }),
    );
  }

  /** Only new pods are asked: what runs already was admitted once. */
  #checkAdmission(observed: ObservedPod): void {
    if (this.#admitted) return;
    this.#admitted = true;
    const phase = this.#pod.status?.phase;
    if (observed.sandboxes.length > 0 || (phase !== undefined && phase !== 'Pending')) return;
    const rejection = this.#options.admit(this.#pod);
    if (!rejection) return;
    const message = `Pod was rejected: ${rejection.message}`;
    this.#verdict = { reason: rejection.reason, message, rejected: true };
    podEvent(this.#ctx, this.#pod, { type: 'Warning', reason: rejection.reason, message: rejection.message });
  }

  #checkDeadline(): void {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined || this.#verdict) return;
    const start = Date.parse(this.#pod.status?.startTime ?? '') || this.#firstSeenMs;
    const left = start + Number(seconds) * 1000 - this.#ctx.clock.now();
    if (left > 0) {
      this.#wakeIn(left + 1);
      return;
    }
    const message = 'Pod was active on the node longer than the specified deadline';
    this.#verdict = { reason: 'DeadlineExceeded', message };
    podEvent(this.#ctx, this.#pod, { type: 'Normal', reason: 'DeadlineExceeded', message });
  }

  async #sync(): Promise<void> {
    const observed = await this.#observe();
    if (this.#terminated) {
      if (this.#removed) return this.#cleanUp();
      if (this.#pod.metadata.deletionTimestamp !== undefined) await this.#deleteFromApi();
      return;
    }
    const phase = this.#ctx.status.get(this.uid)?.phase ?? this.#pod.status?.phase;
    const over = isOver(phase);
    if (!over && !this.#removed) {
      this.#checkAdmission(observed);
      this.#checkDeadline();
    }
    const wanted =
      !over && !this.#removed && !this.#verdict && this.#pod.metadata.deletionTimestamp === undefined;
    if (!wanted) return this.#terminate();
    // What died while nobody looked (a cold start) is told before it takes its time to start again.
    this.#publish(false);
    const result = await this.#run.step(this.#pod, () => this.#observe(), observed, this.#toEnd.signal);
    this.#publish(false);
    if (result === 'finished') return this.#terminate();
    await this.#collectGarbage(this.#observed);
  }

  #grace(): number {
    const own = this.#forcedGrace ?? podGraceSeconds(this.#pod);
    return Math.min(own, this.#shortestGrace);
  }

  /** A second, shorter deletion does not wait for the first one's grace. */
  #shorten(seconds: number): void {
    if (seconds >= this.#shortestGrace) return;
    const again = Number.isFinite(this.#shortestGrace);
    this.#shortestGrace = seconds;
    if (!again && !this.#terminating) return;
    for (const c of runningContainers(this.#observed)) {
      this.#ctx.cri.runtime.stopContainer(c.id, Math.max(seconds, 1)).catch((error: unknown) => {
        if (!isGrpcError(error, 'NotFound')) {
          this.#ctx.log.warn({ error, container: c.name }, 'stopping sooner failed');
        }
      });
    }
  }
  #terminating = false;

  async #terminate(): Promise<void> {
    this.#terminating = true;
    const ctx = this.#ctx;
    ctx.prober.stopLiveness(this.uid);
    this.#publish(false);
    await killContainers(ctx, this.#pod, this.#observed, () => this.#grace());
    await stopSandboxes(ctx, this.#observed);
    await this.#observe();
    ctx.prober.remove(this.uid);
    this.#publish(true);
    // Also what left its container (a pod in the machine's process namespace): nothing of it works in its volumes any more.
    await ctx.cgroups?.remove(podCgroup(this.#pod, ctx.cgroupRoot));
    await ctx.volumes.tearDown(this.#pod);
    // As upstream, at once: it was evicted for what lies there, and the API may not take its status before.
    if (this.#verdict?.reason === 'Evicted') await this.#removeContents();
    this.#emptied.resolve();
    await ctx.status.written(this.uid);
    this.#terminated = true;
    if (this.#removed) await this.#cleanUp();
    else if (this.#pod.metadata.deletionTimestamp !== undefined) await this.#deleteFromApi();
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
    const { runtime } = this.#ctx.cri;
    await this.#removeContents();
    for (const s of this.#observed.sandboxes) await unlessGone(runtime.removePodSandbox(s.id));
    await this.#ctx.storage.remove(this.uid);
    this.#ctx.status.forget(this.uid);
    this.stop();
    this.#emptied.resolve();
    this.#options.done(this.uid);
  }

  /** Containers with what they wrote, and their logs. */
  async #removeContents(): Promise<void> {
    for (const c of this.#observed.containers) await unlessGone(this.#ctx.cri.runtime.removeContainer(c.id));
    await this.#ctx.storage.removeLogs(this.#pod);
  }

  async #collectGarbage(observed: ObservedPod): Promise<void> {
    const { runtime } = this.#ctx.cri;
    const seen = new Map<string, number>();
    const removed = new Set<string>();
    for (const c of observed.containers) {
      if (c.state !== 'exited') continue;
      const count = (seen.get(c.name) ?? 0) + 1;
      seen.set(c.name, count);
      if (count <= keptDead) continue;
      removed.add(c.id);
      await unlessGone(runtime.removeContainer(c.id));
      this.#messages.delete(c.id);
      this.#exitCodes.delete(c.id);
    }
    for (const sandbox of observed.sandboxes.slice(1)) {
      const used = observed.containers.some((c) => c.sandboxId === sandbox.id && !removed.has(c.id));
      if (!sandbox.ready && !used) await unlessGone(runtime.removePodSandbox(sandbox.id));
    }
  }
}

const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';
const isNothing = (observed: ObservedPod): boolean =>
  observed.sandboxes.length + observed.containers.length === 0;

async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isGrpcError(error, 'NotFound')) throw error;
  }
}
