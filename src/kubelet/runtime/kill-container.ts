// Ends containers: preStop within the grace period, then the runtime's stop; sidecars last.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Cgroups } from '../../os/cgroups.ts';
import { isGrpcError } from '../../wire/grpc-client.ts';
import { type KubeletContext, podEvent } from '../kubelet-context.ts';
import { type ObservedContainer, type ObservedPod, runningContainers } from '../observed-pod.ts';
import { isSidecar, podText } from '../pod-format.ts';
import { podCgroup } from '../resources/qos.ts';
import { gracePeriodSeconds } from './container-config.ts';
import { podIPsOf } from './pod-ips.ts';
import type { PreStopHooks } from './pre-stop-hooks.ts';

/** How an end is waited for. Aborted, it is left as far as it came; the runtime has told the programs to end by then. */
export interface KillWait {
  readonly hooks: PreStopHooks;
  readonly signal: AbortSignal;
}

export interface KillInput extends KillWait {
  readonly pod: Pod;
  readonly container: ObservedContainer;
  readonly message?: string;
  /** Default: the pod's. */
  readonly graceSeconds?: number | undefined;
  readonly podIP: string;
}

/** A program always gets a moment to end by itself. */
const minimumGraceSeconds = 1;

/** How long the runtime may take to kill what did not end by itself, before the kubelet does it. */
const killingMs = 10_000;

/** What the API server granted to a deletion, else the pod's own. */
export const podGraceSeconds = (pod: Pod): number =>
  Number(pod.metadata.deletionGracePeriodSeconds ?? gracePeriodSeconds(pod));

function killAll({ log, cgroupRoot }: KubeletContext, cgroups: Cgroups, { pod, container }: KillInput): void {
  const which = { pod: podText(pod), container: container.name };
  log.warn(which, 'the runtime does not kill a container; all of its cgroup is killed');
  cgroups
    .kill(`${podCgroup(pod, cgroupRoot)}/${container.id}`)
    .catch((error: unknown) => log.warn({ ...which, error }, 'a cgroup was not killed'));
}

/**
 * The runtime's stop. A program that stops all processes of its container stops also those that the runtime starts there, and
 * containerd's shim kills nobody while it waits for one: then the kubelet kills all of the container's
 * cgroup itself, where there are such.
 */
async function stop(ctx: KubeletContext, input: KillInput, graceSeconds: number): Promise<void> {
  const { cgroups } = ctx;
  const cancel =
    cgroups && ctx.clock.timer(graceSeconds * 1000 + killingMs, () => killAll(ctx, cgroups, input));
  try {
    await ctx.cri.runtime.stopContainer(input.container.id, graceSeconds, input.signal);
  } catch (error) {
    if (!isGrpcError(error, 'NotFound')) throw error;
  } finally {
    cancel?.();
  }
}

export async function killContainer(ctx: KubeletContext, input: KillInput): Promise<void> {
  const { pod, container, hooks, signal } = input;
  const grace = input.graceSeconds ?? podGraceSeconds(pod);
  podEvent(ctx, pod, {
    type: 'Normal',
    reason: 'Killing',
    message: input.message ?? `Stopping container ${container.name}`,
    container: container.name,
  });
  const used = await hooks.run(input, grace, signal);
  await stop(ctx, input, Math.max(Math.round(grace - used), minimumGraceSeconds));
  hooks.forget(container.id);
}

/** All containers of a pod; the sidecars after the others, last one first. */
export async function killContainers(
  ctx: KubeletContext,
  pod: Pod,
  observed: ObservedPod,
  { graceSeconds, ...wait }: KillWait & { readonly graceSeconds: number },
): Promise<void> {
  const podIP = podIPsOf(ctx, pod, observed)[0] ?? '';
  const began = ctx.clock.monotonic();
  const left = (): number => graceSeconds - (ctx.clock.monotonic() - began) / 1000;
  const sidecarNames = (pod.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name);
  const running = runningContainers(observed);
  const kill = (container: ObservedContainer): Promise<void> =>
    killContainer(ctx, { ...wait, pod, container, graceSeconds: Math.max(left(), 0), podIP });
  await Promise.all(running.filter((c) => !sidecarNames.includes(c.name)).map(kill));
  for (const name of sidecarNames.reverse()) {
    for (const container of running.filter((c) => c.name === name)) await kill(container);
  }
}

export async function stopSandboxes(
  ctx: KubeletContext,
  observed: ObservedPod,
  signal: AbortSignal,
): Promise<void> {
  for (const sandbox of observed.sandboxes) {
    try {
      await ctx.cri.runtime.stopPodSandbox(sandbox.id, signal);
    } catch (error) {
      if (!isGrpcError(error, 'NotFound')) throw error;
    }
  }
}
