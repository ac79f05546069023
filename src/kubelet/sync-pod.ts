// What is to be done for a pod, from what is wanted and what is observed. Pure (upstream: computePodActions).
import type { Container, Pod } from '../api/generated/types/core-v1.ts';
import { latestOf, type ObservedContainer, type ObservedPod, type ObservedSandbox } from './observed-pod.ts';
import { type AnyContainer, containerHash, isHostNetwork, isSidecar } from './pod-format.ts';
import type { ContainerResize, ContainerResizes } from './pod-resize.ts';

/** Results of the probes of a running container; undefined: no result yet. */
export interface ProbeResults {
  liveness(containerId: string): boolean | undefined;
  startup(containerId: string): boolean | undefined;
}

export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly why: 'definitionChanged' | 'liveness' | 'startup' | 'unknown' | 'podDone' | 'resize';
}

export interface PodActions {
  /** End all containers and the sandbox: nothing of the pod is to run any more, or it needs a new sandbox. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  readonly sandboxAttempt: number;
  /** The sandbox to work in, when it is not to be created. */
  readonly sandboxId: string;
  /** In this order. */
  readonly start: readonly { readonly kind: 'init' | 'container' | 'ephemeral'; readonly name: string }[];
  readonly kill: readonly ContainerKill[];
  /** What goes on running gets more or less. */
  readonly resize: readonly ContainerResize[];
}

const noResizes: ContainerResizes = { of: () => undefined };

const nothing: PodActions = {
  killPod: false,
  createSandbox: false,
  sandboxAttempt: 0,
  sandboxId: '',
  start: [],
  kill: [],
  resize: [],
};

type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** The container's own policy and rules (1.35: ContainerRestartRules) before the pod's. */
export function restartsAfter(pod: Pod, container: AnyContainer, exitCode: number): boolean {
  for (const rule of container.restartPolicyRules ?? []) {
    const codes = rule.exitCodes;
    if (!codes) continue;
    const inList = (codes.values ?? []).includes(exitCode);
    if (codes.operator === 'In' ? inList : !inList) return rule.action === 'Restart';
  }
  const policy = (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') as RestartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function isToBeStarted(pod: Pod, container: AnyContainer, latest: ObservedContainer | undefined): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (latest === undefined) return true;
  if (latest.state === 'running') return false;
  if (latest.state !== 'exited') return true;
  return restartsAfter(pod, container, latest.exitCode);
}

interface SandboxNeed {
  readonly create: boolean;
  readonly attempt: number;
  readonly id: string;
}

function sandboxNeed(pod: Pod, sandboxes: readonly ObservedSandbox[]): SandboxNeed {
  const newest = sandboxes[0];
  if (!newest) return { create: true, attempt: 0, id: '' };
  const again = { create: true, attempt: newest.attempt + 1, id: newest.id };
  if (sandboxes.filter((s) => s.ready).length > 1 || !newest.ready) return again;
  if (!isHostNetwork(pod) && newest.ips.length === 0) return again;
  return { create: false, attempt: newest.attempt, id: newest.id };
}

function actionsWithoutSandbox(pod: Pod, observed: ObservedPod, need: SandboxNeed): PodActions {
  const base = { ...nothing, killPod: true, sandboxAttempt: need.attempt, sandboxId: need.id };
  const neverRestarts =
    pod.spec.restartPolicy === 'Never' && !pod.spec.containers.some((c) => c.restartPolicy !== undefined);
  if (neverRestarts && need.attempt !== 0 && observed.containers.length > 0) return base;
  const wanted = pod.spec.containers.filter((c) => isToBeStarted(pod, c, latestOf(observed, c.name)));
  return wanted.length === 0 ? base : { ...base, createSandbox: true };
}

/** A running container that must go: its definition or its health changed. */
function reasonToKill(
  container: AnyContainer,
  observed: ObservedContainer,
  probes: ProbeResults,
): Omit<ContainerKill, 'id' | 'name'> | undefined {
  const { name } = container;
  if (observed.hash !== '' && observed.hash !== containerHash(container)) {
    return { why: 'definitionChanged', message: `Container ${name} definition changed` };
  }
  if (probes.liveness(observed.id) === false) {
    return { why: 'liveness', message: `Container ${name} failed liveness probe` };
  }
  if (probes.startup(observed.id) === false) {
    return { why: 'startup', message: `Container ${name} failed startup probe` };
  }
  return undefined;
}

/** What takes effect with the container's next start only ends it now. */
const endedByResize = ({ id, name }: ContainerResize): ContainerKill => ({
  id,
  name,
  why: 'resize',
  message: `Container ${name} resize requires restart`,
});

/** What a plan is made from. */
interface Looked {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly probes: ProbeResults;
  readonly resizes: ContainerResizes;
}

interface InitPlan {
  readonly initialized: boolean;
  readonly failed: boolean;
  readonly start: readonly string[];
  readonly kill: readonly ContainerKill[];
  readonly resize: readonly ContainerResize[];
}

/** Init containers one after the other; a sidecar lets the next begin once it has started. */
function planInit({ pod, observed, probes, resizes }: Looked, sandboxId: string): InitPlan {
  const here: ObservedPod = {
    sandboxes: observed.sandboxes,
    containers: observed.containers.filter((c) => c.sandboxId === sandboxId),
  };
  // Once a regular container exists in this sandbox the init phase is over, whatever was cleaned up since.
  const over = pod.spec.containers.some((c) => latestOf(here, c.name) !== undefined);
  const start: string[] = [];
  const kill: ContainerKill[] = [];
  const resize: ContainerResize[] = [];
  const result = (initialized: boolean, failed = false): InitPlan => ({
    initialized,
    failed,
    start,
    kill,
    resize,
  });
  for (const container of pod.spec.initContainers ?? []) {
    const latest = latestOf(here, container.name);
    const sidecar = isSidecar(container);
    if (over && !sidecar) continue;
    if (latest?.state === 'running') {
      if (!sidecar) return result(false);
      const reason = reasonToKill(container, latest, probes);
      const change = reason ? undefined : resizes.of(pod, container, latest);
      if (reason) kill.push({ id: latest.id, name: container.name, ...reason });
      else if (change?.restart) kill.push(endedByResize(change));
      else if (change) resize.push(change);
      if (reason ?? change?.restart) {
        start.push(container.name);
      } else if (!over && container.startupProbe && probes.startup(latest.id) !== true) return result(false);
      continue;
    }
    if (latest?.state === 'exited' && !sidecar) {
      if (latest.exitCode === 0) continue;
      if (!restartsAfter(pod, container, latest.exitCode)) return result(false, true);
    }
    start.push(container.name);
    if (!over) return result(false);
  }
  return result(true);
}

interface ContainerPlan {
  readonly keep: boolean;
  readonly start: boolean;
  readonly kill?: ContainerKill;
  readonly resize?: ContainerResize;
}

function planContainer({ pod, observed, probes, resizes }: Looked, container: Container): ContainerPlan {
  const latest = latestOf(observed, container.name);
  if (latest?.state !== 'running') {
    const start = isToBeStarted(pod, container, latest);
    // Its true state is not known, so it is ended before it is started again.
    const unknown = start && latest?.state === 'unknown';
    const message = `Container is in "unknown" state, try killing it before restart`;
    return unknown
      ? { keep: false, start, kill: { id: latest.id, name: container.name, message, why: 'unknown' } }
      : { keep: false, start };
  }
  const reason = reasonToKill(container, latest, probes);
  if (!reason) {
    const resize = resizes.of(pod, container, latest);
    if (resize === undefined) return { keep: true, start: false };
    return resize.restart
      ? { keep: false, start: true, kill: endedByResize(resize) }
      : { keep: true, start: false, resize };
  }
  const restart = (container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always') !== 'Never';
  const message = restart ? `${reason.message}, will be restarted` : reason.message;
  return { keep: false, start: restart, kill: { id: latest.id, name: container.name, ...reason, message } };
}

export function podActions(
  pod: Pod,
  observed: ObservedPod,
  probes: ProbeResults,
  resizes: ContainerResizes = noResizes,
): PodActions {
  const need = sandboxNeed(pod, observed.sandboxes);
  if (need.create) return actionsWithoutSandbox(pod, observed, need);
  const start: { kind: 'init' | 'container' | 'ephemeral'; name: string }[] = [];
  const kill: ContainerKill[] = [];
  const looked: Looked = { pod, observed, probes, resizes };
  const base = { ...nothing, sandboxAttempt: need.attempt, sandboxId: need.id };
  for (const { name } of pod.spec.ephemeralContainers ?? []) {
    if (latestOf(observed, name) === undefined) start.push({ kind: 'ephemeral', name });
  }
  const init = planInit(looked, need.id);
  kill.push(...init.kill);
  const resize: ContainerResize[] = [...init.resize];
  if (init.failed) return { ...base, killPod: true };
  if (!init.initialized) {
    start.push(...init.start.map((name) => ({ kind: 'init' as const, name })));
    return { ...base, start, kill, resize };
  }
  let kept = 0;
  let started = 0;
  for (const container of pod.spec.containers) {
    const plan = planContainer(looked, container);
    if (plan.keep) kept++;
    if (plan.resize) resize.push(plan.resize);
    if (plan.kill) kill.push(plan.kill);
    if (!plan.start) continue;
    started++;
    start.push({ kind: 'container', name: container.name });
  }
  // All regular containers are done for good: sidecars and sandbox end too.
  if (kept === 0 && started === 0) return { ...base, killPod: true };
  start.unshift(...init.start.map((name) => ({ kind: 'init' as const, name })));
  return { ...base, start, kill, resize };
}
