// Brings one pod to what it should be: carries out the actions of sync-pod until nothing is left to do.
import type { Pod } from '../api/generated/types/core-v1.ts';
import { type Backoff, backoffMs } from '../base/backoff.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { PodSandboxConfig } from '../rpc-api/generated/cri-v1.ts';
import { type KubeletContext, podEvent } from './kubelet-context.ts';
import { latestOf, type ObservedContainer, type ObservedPod } from './observed-pod.ts';
import { containerHash, failureText, findContainer, podText, podUid } from './pod-format.ts';
import type { ContainerResize, PodResize } from './pod-resize.ts';
import { PodCgroup } from './resources/pod-cgroup.ts';
import { podCgroup } from './resources/qos.ts';
import { killContainer, killContainers, podGraceSeconds, stopSandboxes } from './runtime/kill-container.ts';
import { podIPsOf } from './runtime/pod-ips.ts';
import type { PreStopHooks } from './runtime/pre-stop-hooks.ts';
import { PullFailures } from './runtime/pull-failures.ts';
import { goSeconds, RestartBackoff } from './runtime/restart-backoff.ts';
import { sandboxConfig } from './runtime/sandbox-config.ts';
import { startContainer } from './runtime/start-container.ts';
import { StartError, type Waiting } from './runtime/start-error.ts';
import { type ContainerKill, type PodActions, podActions } from './sync-pod.ts';
import { type MountedVolumes, VolumeError } from './volumes/volume-manager.ts';

export interface PodRunOptions {
  readonly hooks: PreStopHooks;
  readonly resize: PodResize;
  readonly publish: () => void;
  readonly wakeIn: (ms: number) => void;
}

export type StepResult = 'settled' | 'finished';

/** A pod never needs more rounds than this in one go; then it waits for the next look. */
const maxRounds = 64;
const failureRetryMs = 5000;
/** As upstream's operations on volumes. */
const volumeBackoff: Backoff = { firstMs: 500, longestMs: 122_000 };

export class PodRun {
  /** Why containers do not run although they should. */
  readonly waiting: Map<string, Waiting> = new Map();
  readonly #ctx: KubeletContext;
  readonly #options: PodRunOptions;
  readonly #backoff = new RestartBackoff();
  readonly #pullFailures = new PullFailures();
  readonly #notBefore = new Map<string, number>();
  /** By container: the end that was seen, and until when it is waited for, on the clock that nobody sets. */
  readonly #ends = new Map<string, { readonly id: string; readonly untilMs: number }>();
  #volumes: MountedVolumes | undefined;
  #volumesStale = true;
  #refreshAtMs: number | undefined;
  #volumeFailures = 0;
  readonly #cgroup: PodCgroup;
  #config: PodSandboxConfig | undefined;
  #handler: string | undefined;

  constructor(ctx: KubeletContext, options: PodRunOptions) {
    this.#ctx = ctx;
    this.#options = options;
    this.#cgroup = new PodCgroup(ctx);
  }

  volumesChanged(): void {
    this.#volumesStale = true;
    // What failed for want of an object may work now.
    for (const [name, { reason }] of this.waiting) {
      if (reason === 'CreateContainerConfigError') this.#notBefore.delete(name);
    }
  }

  /** Throws the signal's reason: the pod is to end, so it is left as it is. */
  async step(
    pod: Pod,
    observe: () => Promise<ObservedPod>,
    first: ObservedPod,
    signal: AbortSignal,
  ): Promise<StepResult> {
    let observed = first;
    for (let round = 0; round < maxRounds; round++) {
      this.#ctx.prober.update(pod, observed, podIPsOf(this.#ctx, pod, observed)[0] ?? '');
      const actions = podActions(pod, observed, this.#ctx.prober, this.#options.resize);
      if (actions.killPod && !actions.createSandbox) return 'finished';
      if (!(await this.#prepareVolumes(pod, observed, signal))) return 'settled';
      if (!(await this.#resized(() => this.#cgroup.widen(pod, observed), pod))) return 'settled';
      const progress = await this.#carryOut(pod, observed, actions, signal);
      if (!progress) {
        await this.#settle(pod, actions);
        return 'settled';
      }
      observed = await observe();
      this.#options.publish();
    }
    this.#options.wakeIn(failureRetryMs);
    return 'settled';
  }

  /** False: a volume is not ready; it is tried again later. */
  async #prepareVolumes(pod: Pod, observed: ObservedPod, signal: AbortSignal): Promise<boolean> {
    if (this.#refreshAtMs !== undefined) {
      const left = this.#refreshAtMs - this.#ctx.clock.monotonic();
      if (left <= 0) this.#volumesStale = true;
      else this.#options.wakeIn(left);
    }
    if (this.#volumes && !this.#volumesStale) return true;
    this.#volumesStale = false;
    try {
      await this.#ctx.storage.prepare(pod);
      this.#volumes = await this.#ctx.volumes.setUp(pod, podIPsOf(this.#ctx, pod, observed), signal);
      this.#volumeFailures = 0;
    } catch (error) {
      this.#volumesStale = true;
      signal.throwIfAborted();
      const failure = error instanceof VolumeError ? error : new VolumeError('', error);
      podEvent(this.#ctx, pod, {
        type: 'Warning',
        reason: 'FailedMount',
        message: failure.message,
      });
      this.#options.publish();
      this.#options.wakeIn(backoffMs(volumeBackoff, ++this.#volumeFailures));
      return this.#volumes !== undefined; // running pods live on with what they have
    }
    const refresh = this.#ctx.volumes.refreshInMs(pod);
    this.#refreshAtMs = refresh === undefined ? undefined : this.#ctx.clock.monotonic() + refresh;
    return true;
  }

  /** True: something changed, so look again. Throws the signal's reason. */
  async #carryOut(
    pod: Pod,
    observed: ObservedPod,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (actions.createSandbox) return this.#recreate(pod, observed, actions.sandboxAttempt, signal);
    await Promise.all(actions.kill.map((kill) => this.#kill(pod, observed, kill, signal)));
    let progress = actions.kill.length > 0;
    // What gives comes before what takes: the group of the pod has room for no more than the larger of both.
    for (const change of actions.resize.toSorted((a, b) => Number(b.shrinks) - Number(a.shrinks)))
      progress = (await this.#resized(() => this.#give(pod, change, signal), pod)) || progress;
    for (const { name } of actions.start) {
      // Killed a moment ago: its end must be seen before it starts again.
      if (actions.kill.some((k) => k.name === name)) continue;
      signal.throwIfAborted();
      progress = (await this.#start(pod, observed, name, actions.sandboxId, signal)) || progress;
    }
    return progress;
  }

  async #kill(pod: Pod, observed: ObservedPod, kill: ContainerKill, signal: AbortSignal): Promise<void> {
    const container = observed.containers.find((c) => c.id === kill.id);
    if (!container) return;
    const spec = findContainer(pod, kill.name);
    const own =
      kill.why === 'liveness'
        ? spec?.livenessProbe?.terminationGracePeriodSeconds
        : kill.why === 'startup'
          ? spec?.startupProbe?.terminationGracePeriodSeconds
          : undefined;
    const podIP = podIPsOf(this.#ctx, pod, observed)[0] ?? '';
    const graceSeconds = own === undefined ? undefined : Number(own);
    const wait = { hooks: this.#options.hooks, signal };
    await killContainer(this.#ctx, { ...wait, pod, container, message: kill.message, graceSeconds, podIP });
  }

  async #recreate(pod: Pod, observed: ObservedPod, attempt: number, signal: AbortSignal): Promise<boolean> {
    const ctx = this.#ctx;
    if (this.#delayed('')) return false;
    if (observed.sandboxes.length > 0) {
      podEvent(ctx, pod, {
        type: 'Normal',
        reason: 'SandboxChanged',
        message: 'Pod sandbox changed, it will be killed and re-created.',
      });
      const wait = { graceSeconds: podGraceSeconds(pod), hooks: this.#options.hooks, signal };
      await killContainers(ctx, pod, observed, wait);
      await stopSandboxes(ctx, observed, signal);
    }
    this.#options.publish();
    try {
      await this.#cgroup.set(pod);
      const config = await this.#sandboxConfig(pod, attempt, signal);
      await ctx.cri.runtime.runPodSandbox(config, this.#handler ?? '', signal);
      const notice = ctx.nodeOs.sandboxNotice(this.#handler ?? '');
      if (notice) podEvent(ctx, pod, { type: 'Normal', reason: 'Emulated', message: notice });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      podEvent(ctx, pod, {
        type: 'Warning',
        reason: 'FailedCreatePodSandBox',
        message: `Failed to create pod sandbox: ${failureText(error)}`,
      });
      ctx.log.warn({ error, pod: podText(pod) }, `no sandbox: ${failureText(error)}`);
      this.#delay('', failureRetryMs);
      return false;
    }
  }

  /** False: it went wrong, which the pod's status says; it is tried again later. */
  async #resized(work: () => Promise<void>, pod: Pod): Promise<boolean> {
    if (!this.#options.resize.isInProgress) return true;
    try {
      await work();
      return true;
    } catch (error) {
      this.#options.resize.failed(pod, failureText(error));
      this.#options.wakeIn(failureRetryMs);
      return false;
    }
  }

  async #give(pod: Pod, change: ContainerResize, signal: AbortSignal): Promise<void> {
    await this.#cgroup.checkMemory(pod, change);
    await this.#ctx.cri.runtime.updateContainerResources(change.id, change.resources, signal);
    this.#options.resize.given(change);
  }

  /** Once each container has what it is to have, its pod has no more. */
  async #settle(pod: Pod, { kill, resize }: PodActions): Promise<void> {
    if (!this.#options.resize.isInProgress || kill.length + resize.length > 0) return;
    if (await this.#resized(() => this.#cgroup.set(pod), pod)) this.#options.resize.settled(pod);
  }

  async #sandboxConfig(pod: Pod, attempt: number, signal: AbortSignal): Promise<PodSandboxConfig> {
    const ctx = this.#ctx;
    const className = pod.spec.runtimeClassName ?? '';
    const classHandler =
      className === '' ? '' : await untilAborted(ctx.runtimeClassHandler(className), signal);
    this.#handler = ctx.nodeOs.runtimeHandler(pod, classHandler);
    this.#config = sandboxConfig({
      pod,
      attempt,
      logDirectory: ctx.storage.logDirectory(pod),
      cgroupParent: ctx.cgroups ? podCgroup(pod, ctx.cgroupRoot) : '',
      dns: ctx.dns,
      nodeOs: ctx.nodeOs,
    });
    return this.#config;
  }

  #delay(key: string, ms: number): void {
    this.#notBefore.set(key, this.#ctx.clock.monotonic() + ms);
    this.#options.wakeIn(ms);
  }

  #delayed(key: string): boolean {
    const left = (this.#notBefore.get(key) ?? 0) - this.#ctx.clock.monotonic();
    if (left <= 0) return false;
    this.#options.wakeIn(left);
    return true;
  }

  /** What is left of the wait after an end that may have been seen before. */
  #leftOf(name: string, id: string, wait: () => number): number {
    const now = this.#ctx.clock.monotonic();
    let end = this.#ends.get(name);
    if (end?.id !== id) {
      end = { id, untilMs: now + wait() };
      this.#ends.set(name, end);
    }
    return end.untilMs - now;
  }

  /** True: it must wait, because it failed not long ago. */
  #inBackoff(pod: Pod, name: string, latest: ObservedContainer | undefined): boolean {
    if (latest?.state !== 'exited') return false;
    const spec = findContainer(pod, name);
    const key = `${name}_${spec ? containerHash(spec) : ''}`;
    const now = this.#ctx.clock.now();
    const left = this.#leftOf(name, latest.id, () =>
      this.#backoff.remainingMs(key, latest.finishedAtMs, now),
    );
    if (left <= 0) {
      this.#backoff.next(key, latest.finishedAtMs, now);
      return false;
    }
    const delay = goSeconds(this.#backoff.delayMs(key));
    const message = `back-off ${delay} restarting failed container=${name} pod=${podText(pod)}`;
    this.waiting.set(name, { reason: 'CrashLoopBackOff', message });
    podEvent(this.#ctx, pod, {
      type: 'Warning',
      reason: 'BackOff',
      message: `Back-off restarting failed container ${name} in pod ${podText(pod)}`,
      container: name,
    });
    this.#delay(name, left);
    return true;
  }

  async #start(
    pod: Pod,
    observed: ObservedPod,
    name: string,
    sandboxId: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const container = findContainer(pod, name);
    if (!container || this.#delayed(name)) return false;
    if (this.#inBackoff(pod, name, latestOf(observed, name))) return false;
    const attempt = observed.sandboxes[0]?.attempt ?? 0;
    const config = this.#config ?? (await this.#sandboxConfig(pod, attempt, signal));
    try {
      await startContainer(this.#ctx, {
        pod,
        container,
        observed,
        sandboxId,
        sandboxConfig: config,
        podIPs: podIPsOf(this.#ctx, pod, observed),
        volumes: this.#volumes!,
        handler: this.#handler ?? '',
        pullFailures: this.#pullFailures,
        signal,
      });
      this.waiting.delete(name);
      this.#notBefore.delete(name);
      return true;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      this.waiting.set(name, { reason: error.reason, message: error.message });
      this.#ctx.log.info(
        { pod: podText(pod), uid: podUid(pod), container: name, reason: error.reason },
        error.message,
      );
      this.#delay(name, error.retryMs);
      // A container may have been created, or started and ended, before it failed.
      return error.stage === 'run' || error.stage === 'postStart';
    }
  }
}
