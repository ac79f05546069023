// Starts one container of a pod: image, environment, mounts, create, start, postStart; with upstream's events and reasons.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import type { Image, Mount, PodSandboxConfig } from '../../rpc-api/generated/cri-v1.ts';
import { type KubeletContext, podEvent } from '../kubelet-context.ts';
import { latestOf, type ObservedPod } from '../observed-pod.ts';
import { type AnyContainer, failureText, podText, podUid } from '../pod-format.ts';
import type { MountedVolumes } from '../volumes/volume-manager.ts';
import { containerConfig, gracePeriodSeconds, imageUserOf } from './container-config.ts';
import { containerEnvironment, type Environment } from './env-vars.ts';
import { hostsFile } from './hosts-file.ts';
import { runHook } from './lifecycle-hooks.ts';
import type { PullFailures } from './pull-failures.ts';
import { withRecursiveReadOnly } from './runtime-features.ts';
import { StartError, type StartFailure } from './start-error.ts';

export interface StartInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly observed: ObservedPod;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIPs: readonly string[];
  readonly volumes: MountedVolumes;
  readonly handler: string;
  readonly pullFailures: PullFailures;
  /** The pod is to end: nothing more is begun for it, and what only waits is left. */
  readonly signal: AbortSignal;
}

/** Upstream tries again with the next sync after 10 s and more. */
const retryMs = 10_000;

async function environmentOf(ctx: KubeletContext, input: StartInput): Promise<Environment> {
  const { pod, container } = input;
  return containerEnvironment({
    pod,
    container,
    services: ctx.services,
    objects: ctx.objects,
    fields: { podIPs: input.podIPs, nodeIPs: ctx.nodeIPs, allocatable: ctx.allocatable },
    skipped: (message) =>
      podEvent(ctx, pod, {
        type: 'Warning',
        reason: 'InvalidEnvironmentVariableNames',
        message,
        container: container.name,
      }),
  });
}

async function systemMounts(ctx: KubeletContext, input: StartInput, attempt: number): Promise<Mount[]> {
  const { pod, container } = input;
  const mounts: Mount[] = [];
  const taken = new Set((container.volumeMounts ?? []).map((m) => m.mountPath));
  if (!taken.has('/etc/hosts') && !taken.has(ctx.nodeOs.hostsFile)) {
    const nodeHosts = ctx.nodeOs.hostNetwork(pod) ? await ctx.storage.nodeHosts() : undefined;
    const text = hostsFile(pod, { podIPs: input.podIPs, clusterDomain: ctx.dns.domain, nodeHosts });
    const hostPath = await ctx.storage.writeHosts(pod, text);
    mounts.push({ containerPath: ctx.nodeOs.hostsFile, hostPath, readonly: false });
  }
  const path = container.terminationMessagePath ?? '/dev/termination-log';
  if (path !== '') {
    const hostPath = await ctx.storage.createTerminationLog(podUid(pod), container.name, attempt);
    mounts.push({ containerPath: ctx.nodeOs.containerPath(path), hostPath, readonly: false });
  }
  return mounts;
}

async function checkImage(ctx: KubeletContext, input: StartInput, image: Image): Promise<void> {
  const { pod, container } = input;
  const platform = await ctx.imagePlatform(image.id ?? '');
  const mismatch = platform && ctx.nodeOs.imageMismatch(pod, platform, input.handler);
  if (mismatch) throw new StartError('CreateContainerError', mismatch, 60_000);
  const refused = ctx.nodeOs.breaksNonRoot(pod, container, imageUserOf(image));
  if (refused) throw new StartError('CreateContainerConfigError', refused, retryMs);
}

async function withReason<T>(reason: StartFailure, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    // As upstream: the description of a runtime's error, without its code. What was created is seen as
    // ended at the next look and then waits as every crash does.
    const text = error instanceof Error ? error.message : String(error);
    throw new StartError(reason, text, reason === 'RunContainerError' ? 1000 : retryMs);
  }
}

async function create(ctx: KubeletContext, input: StartInput, attempt: number): Promise<string> {
  const { pod, container } = input;
  const { signal, sandboxConfig } = input;
  const image = await ctx.images.ensure({
    pod,
    container,
    sandboxConfig,
    failures: input.pullFailures,
    signal,
  });
  await checkImage(ctx, input, image);
  const config = await withReason('CreateContainerConfigError', async () => {
    const environment = await untilAborted(environmentOf(ctx, input), signal);
    const recursive = ctx.runtimeFeatures.recursiveReadOnlyHandlers.has(input.handler);
    const own = await input.volumes.mountsOf(container, environment, signal);
    const mounts = [
      ...withRecursiveReadOnly(container, own, recursive),
      ...(await systemMounts(ctx, input, attempt)),
    ];
    const target = 'targetContainerName' in container ? (container.targetContainerName ?? '') : '';
    return containerConfig({
      pod,
      container,
      attempt,
      image,
      environment,
      mounts,
      nodeOs: ctx.nodeOs,
      seccompRoot: ctx.seccompRoot,
      nodeMemoryBytes: ctx.machine.memoryBytes,
      nodeCpuCount: ctx.machine.cpuCount,
      targetId: target === '' ? undefined : latestOf(input.observed, target)?.id,
    });
  });
  await ctx.storage.prepareContainerLog(pod, container.name);
  return withReason('CreateContainerError', () =>
    ctx.cri.runtime.createContainer(input.sandboxId, config, sandboxConfig, signal),
  );
}

async function postStart(ctx: KubeletContext, input: StartInput, containerId: string): Promise<void> {
  const { pod, container, signal } = input;
  const handler = container.lifecycle?.postStart;
  if (!handler) return;
  try {
    const podIP = input.podIPs[0] ?? '';
    await runHook(ctx, { pod, container, containerId, podIP, handler, signal });
  } catch (error) {
    if (signal.aborted) throw error; // the container ends with its pod
    const say = { type: 'Warning', reason: 'FailedPostStartHook', message: 'PostStartHook failed' } as const;
    podEvent(ctx, pod, { ...say, container: container.name });
    podEvent(ctx, pod, {
      type: 'Normal',
      reason: 'Killing',
      message: 'FailedPostStartHook',
      container: container.name,
    });
    await ctx.cri.runtime.stopContainer(containerId, gracePeriodSeconds(pod), signal);
    throw new StartError('PostStartHookError', failureText(error), 1000);
  }
}

/** Throws StartError; its reason is for the container's status. Of a pod that is to end it throws the signal's reason. */
export async function startContainer(ctx: KubeletContext, input: StartInput): Promise<void> {
  const { pod, container, observed, signal } = input;
  const latest = latestOf(observed, container.name);
  const attempt = latest === undefined ? 0 : latest.restartCount + 1;
  const say = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    podEvent(ctx, pod, { type, reason, message, container: container.name });
  try {
    const id = await create(ctx, input, attempt);
    say('Normal', 'Created', 'Container created');
    await withReason('RunContainerError', () => ctx.cri.runtime.startContainer(id, signal));
    say('Normal', 'Started', 'Container started');
    await postStart(ctx, input, id);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // Of an image and of a hook more was said where they failed.
    if (error instanceof StartError && (error.stage === 'create' || error.stage === 'run')) {
      say('Warning', 'Failed', `Error: ${error.message}`);
    }
    throw error;
  } finally {
    await input.volumes.release(container).catch((error: unknown) => {
      ctx.log.warn({ error, pod: podText(pod), container: container.name }, 'mounts of a start are left');
    });
  }
}
