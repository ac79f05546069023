// The status of a pod as the API shows it, from what is observed. Pure.
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from '../api/generated/types/core-v1.ts';
import { rfc3339 } from '../base/clock.ts';
import { type ObservedContainer, type ObservedPod, readySandbox, runningContainers } from './observed-pod.ts';
import { type AnyContainer, isHostNetwork, isSidecar } from './pod-format.ts';
import { type PodPhase, podConditions, podPhase } from './pod-phase.ts';
import { actualResources } from './resources/actual-resources.ts';
import { qosClass } from './resources/qos.ts';
import { restartsAfter } from './sync-pod.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** Why a container does not run although it should: `CrashLoopBackOff` … */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
  readonly terminationMessage: (container: ObservedContainer) => string | undefined;
  readonly readiness: (containerId: string) => boolean | undefined;
  readonly startup: (containerId: string) => boolean | undefined;
  readonly terminal: boolean;
  readonly nodeIPs: readonly string[];
  readonly runtimeName: string;
  readonly startTimeMs: number;
  readonly nowMs: number;
  readonly verdict?: Verdict | undefined;
  /** Conditions of a change of its resources. */
  readonly resize?: readonly PodCondition[];
}

/** Why the kubelet ended the pod itself: admission, deadline, eviction. */
export interface Verdict {
  readonly reason: string;
  readonly message: string;
  /** For the node's sake. */
  readonly disruption?: boolean;
  /** The node has never taken the pod. */
  readonly rejected?: boolean;
}

/** A pod with what was last told of it, which the API may not show yet; conditions that others tell are theirs. */
export function podAsTold(pod: Pod, told: PodStatus | undefined): Pod {
  if (!told) return pod;
  const own = told.conditions ?? [];
  const others = pod.status?.conditions?.filter(({ type }) => !own.some((c) => c.type === type)) ?? [];
  return { ...pod, status: { ...pod.status, ...told, conditions: [...own, ...others] } };
}

function disruptionTarget({ pod, verdict, nowMs }: StatusInput): PodCondition[] {
  if (verdict?.disruption !== true) return [];
  const type = 'DisruptionTarget';
  const { generation } = pod.metadata;
  const told = pod.status?.conditions?.find((c) => c.type === type && c.status === 'True');
  return [
    {
      type,
      status: 'True',
      reason: 'TerminationByKubelet',
      message: verdict.message,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastProbeTime: null as unknown as string,
      lastTransitionTime: told?.lastTransitionTime ?? rfc3339(nowMs),
    },
  ];
}

function terminatedState(input: StatusInput, c: ObservedContainer): ContainerStateTerminated {
  const message = input.terminationMessage(c) ?? c.message;
  return {
    containerID: `${input.runtimeName}://${c.id}`,
    exitCode: c.exitCode,
    reason: c.reason || (c.exitCode === 0 ? 'Completed' : 'Error'),
    ...(message === '' ? {} : { message }),
    ...(c.startedAtMs > 0 ? { startedAt: rfc3339(c.startedAtMs) } : {}),
    ...(c.finishedAtMs > 0 ? { finishedAt: rfc3339(c.finishedAtMs) } : {}),
  };
}

function stateOf(input: StatusInput, c: ObservedContainer): ContainerState {
  switch (c.state) {
    case 'running':
      return { running: { startedAt: rfc3339(c.startedAtMs) } };
    case 'exited':
      return { terminated: terminatedState(input, c) };
    case 'created':
      return { waiting: {} };
    case 'unknown':
      return {
        terminated: {
          exitCode: 137,
          reason: 'ContainerStatusUnknown',
          message: 'The container could not be located when the pod was terminated',
          containerID: `${input.runtimeName}://${c.id}`,
        },
      };
  }
}

type Kind = 'init' | 'container' | 'ephemeral';

function currentState(
  input: StatusInput,
  container: AnyContainer,
  latest: ObservedContainer | undefined,
  defaultReason: string,
): { readonly state: ContainerState; readonly replaced: boolean } {
  const waiting = input.waiting.get(container.name);
  if (!latest) return { state: { waiting: waiting ?? { reason: defaultReason } }, replaced: false };
  if (
    latest.state === 'exited' &&
    waiting &&
    !input.terminal &&
    restartsAfter(input.pod, container, latest.exitCode)
  ) {
    return { state: { waiting }, replaced: true };
  }
  if (latest.state === 'created' && waiting) return { state: { waiting }, replaced: false };
  return { state: stateOf(input, latest), replaced: false };
}

/** What was last told of this very container: a kubelet that starts again changes nothing before it has probed. */
function toldOf(input: StatusInput, kind: Kind, id: string): ContainerStatus | undefined {
  const { status } = input.pod;
  const told = kind === 'init' ? status?.initContainerStatuses : status?.containerStatuses;
  return told?.find((one) => one.containerID === `${input.runtimeName}://${id}`);
}

function hasStarted(input: StatusInput, kind: Kind, latest: ObservedContainer): boolean {
  return input.startup(latest.id) ?? toldOf(input, kind, latest.id)?.started === true;
}

function isReady(
  input: StatusInput,
  kind: Kind,
  container: AnyContainer,
  latest: ObservedContainer,
): boolean {
  const long = kind === 'container' || (kind === 'init' && container.restartPolicy === 'Always');
  if (kind === 'init' && !long) return latest.state === 'exited' && latest.exitCode === 0;
  if (!long || latest.state !== 'running') return false;
  if (container.startupProbe && !hasStarted(input, kind, latest)) return false;
  if (!container.readinessProbe) return true;
  return input.readiness(latest.id) ?? toldOf(input, kind, latest.id)?.ready === true;
}

function isStarted(
  input: StatusInput,
  kind: Kind,
  container: AnyContainer,
  latest: ObservedContainer | undefined,
): boolean {
  if (latest?.state !== 'running') return false;
  return container.startupProbe ? hasStarted(input, kind, latest) : true;
}

/** A container that asked for it does not start without; what was made of IfPossible the runtime does not say. */
const recursiveReadOnly = (mode = 'Disabled'): { readonly recursiveReadOnly?: string } =>
  mode === 'IfPossible' ? {} : { recursiveReadOnly: mode };

const volumeMountStatuses = (container: AnyContainer): Partial<ContainerStatus> => {
  const mounts = container.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map((m) => ({
      name: m.name,
      mountPath: m.mountPath,
      ...(m.readOnly ? { readOnly: true, ...recursiveReadOnly(m.recursiveReadOnly) } : {}),
    })),
  };
};

/** What was set aside for it, and what its runtime has come to. */
function resourcesOf({ resources }: AnyContainer, latest: ObservedContainer): Partial<ContainerStatus> {
  if (resources === undefined || Object.keys(resources).length === 0) return {};
  const running = latest.state === 'running' ? latest.resources : undefined;
  return {
    resources: actualResources(resources, running),
    ...(resources.requests ? { allocatedResources: resources.requests } : {}),
  };
}

function containerStatus(
  input: StatusInput,
  kind: Kind,
  container: AnyContainer,
  defaultReason: string,
): ContainerStatus {
  const all = input.observed.containers.filter((c) => c.name === container.name);
  const [latest, previous] = all;
  const { state, replaced } = currentState(input, container, latest, defaultReason);
  const last = replaced ? latest : previous;
  return {
    name: container.name,
    state,
    lastState: last && last.state !== 'running' ? stateOf(input, last) : {},
    ready: latest ? isReady(input, kind, container, latest) : false,
    restartCount: latest?.restartCount ?? 0,
    image: latest?.image || (container.image ?? ''),
    imageID: latest?.imageId ?? '',
    ...(latest ? { containerID: `${input.runtimeName}://${latest.id}` } : {}),
    started: isStarted(input, kind, container, latest),
    ...(latest ? resourcesOf(container, latest) : {}),
    ...volumeMountStatuses(container),
  };
}

function allStatuses(input: StatusInput): {
  init: ContainerStatus[];
  containers: ContainerStatus[];
  ephemeral: ContainerStatus[];
} {
  const { pod } = input;
  const inits = pod.spec.initContainers ?? [];
  const initDone = (statuses: readonly ContainerStatus[]): boolean =>
    statuses.every((s) => {
      const container = inits.find((c) => c.name === s.name)!;
      return isSidecar(container) ? s.started === true : s.ready;
    });
  const init = inits.map((c) => containerStatus(input, 'init', c, 'PodInitializing'));
  const waitingReason = inits.length > 0 && !initDone(init) ? 'PodInitializing' : 'ContainerCreating';
  return {
    init,
    containers: pod.spec.containers.map((c) => containerStatus(input, 'container', c, waitingReason)),
    ephemeral: (pod.spec.ephemeralContainers ?? []).map((c) =>
      containerStatus(input, 'ephemeral', c, 'ContainerCreating'),
    ),
  };
}

function addresses(input: StatusInput): Partial<PodStatus> {
  const own = readySandbox(input.observed)?.ips ?? [];
  const before = input.terminal ? (input.pod.status?.podIPs ?? []).map((p) => p.ip) : [];
  const ips = isHostNetwork(input.pod)
    ? input.observed.sandboxes.length > 0
      ? input.nodeIPs
      : []
    : own.length > 0
      ? own
      : before;
  return {
    ...(input.nodeIPs.length > 0
      ? { hostIP: input.nodeIPs[0], hostIPs: input.nodeIPs.map((ip) => ({ ip })) }
      : {}),
    ...(ips.length > 0 ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}),
  };
}

/** As upstream, nothing of containers and addresses: none of them was ever to come. */
function rejectedStatus({ pod, startTimeMs }: StatusInput, { reason, message }: Verdict): PodStatus {
  const { generation } = pod.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: 'Failed',
    reason,
    message,
    startTime: pod.status?.startTime ?? rfc3339(startTimeMs),
    qosClass: pod.status?.qosClass ?? qosClass(pod),
  };
}

export function podStatusFrom(input: StatusInput): PodStatus {
  const { pod, verdict } = input;
  if (verdict?.rejected === true) return rejectedStatus(input, verdict);
  const { init, containers, ephemeral } = allStatuses(input);
  const phaseInput = { pod, init, containers, terminal: input.terminal };
  const current = pod.status?.phase;
  // A terminal phase is never left.
  const settled: PodPhase | undefined =
    current === 'Succeeded' ? 'Succeeded' : current === 'Failed' ? 'Failed' : undefined;
  const computed: PodPhase = settled ?? (verdict ? 'Failed' : podPhase(phaseInput));
  // While anything of it still runs (a sidecar, a program that was told to end) a pod is not over.
  const isOver = computed === 'Succeeded' || computed === 'Failed';
  const early =
    isOver && settled === undefined && !input.terminal && runningContainers(input.observed).length > 0;
  const phase: PodPhase = early ? 'Running' : computed;
  const { generation } = pod.metadata;
  const reason =
    (verdict && { reason: verdict.reason, message: verdict.message }) ??
    (settled && pod.status?.reason
      ? { reason: pod.status.reason, message: pod.status.message ?? '' }
      : undefined);
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    ...(reason ? { reason: reason.reason, message: reason.message } : {}),
    conditions: [
      ...(input.resize ?? []),
      ...podConditions(
        { ...phaseInput, hasSandbox: readySandbox(input.observed) !== undefined, now: rfc3339(input.nowMs) },
        phase,
        pod.status,
      ),
      ...disruptionTarget(input),
    ],
    ...addresses(input),
    startTime: pod.status?.startTime ?? rfc3339(input.startTimeMs),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    containerStatuses: containers,
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
    qosClass: pod.status?.qosClass ?? qosClass(pod),
  };
}
