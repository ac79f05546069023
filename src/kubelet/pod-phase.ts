// The phase and the conditions of a pod, from its container statuses. Pure (upstream: getPhase and status/generate.go).
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../api/generated/types/core-v1.ts';
import { isSidecar } from './pod-format.ts';
import { restartsAfter } from './sync-pod.ts';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export interface PhaseInput {
  readonly pod: Pod;
  readonly init: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  /** Nothing of the pod will start any more. */
  readonly terminal: boolean;
}

function initBlocks(pod: Pod, statuses: readonly ContainerStatus[]): 'no' | 'pending' | 'failed' {
  for (const container of pod.spec.initContainers ?? []) {
    const status = statuses.find((s) => s.name === container.name);
    if (isSidecar(container)) {
      const ended = status?.state?.terminated ?? status?.lastState?.terminated;
      if (!status || (!status.started && !ended)) return 'pending';
      continue;
    }
    const ended = status?.state?.terminated;
    if (!ended) return 'pending';
    if (ended.exitCode !== 0) return restartsAfter(pod, container, ended.exitCode) ? 'pending' : 'failed';
  }
  return 'no';
}

export function podPhase({ pod, init, containers, terminal }: PhaseInput): PodPhase {
  let running = 0;
  let waiting = 0;
  let stopped = 0;
  let succeeded = 0;
  let unknown = 0;
  let restarting = false;
  for (const container of pod.spec.containers) {
    const status = containers.find((s) => s.name === container.name);
    const ended = status?.state?.terminated ?? status?.lastState?.terminated;
    if (ended && restartsAfter(pod, container, ended.exitCode)) restarting = true;
    if (!status) unknown++;
    else if (status.state?.running) running++;
    else if (status.state?.terminated) {
      stopped++;
      if (status.state.terminated.exitCode === 0) succeeded++;
    } else if (status.lastState?.terminated) stopped++;
    else waiting++;
  }
  const initState = initBlocks(pod, init);
  const begun = running + stopped > 0;
  if (initState === 'failed') return 'Failed';
  if (initState === 'pending' && !begun && !terminal) return 'Pending';
  if (waiting > 0 && !terminal) return 'Pending';
  if (running > 0 && unknown === 0) return 'Running';
  if (running > 0 || stopped === 0 || unknown > 0) return terminal ? 'Failed' : 'Pending';
  if (terminal) return stopped === succeeded && waiting === 0 ? 'Succeeded' : 'Failed';
  // One that is to start again, by the pod's policy, its own or its rules, keeps the pod alive.
  if (restarting) return 'Running';
  return stopped === succeeded ? 'Succeeded' : 'Failed';
}

type Draft = Omit<PodCondition, 'lastTransitionTime' | 'lastProbeTime'>;
const yes = (type: string, reason?: string): Draft => ({
  type,
  status: 'True',
  ...(reason ? { reason } : {}),
});
const no = (type: string, reason: string, message?: string): Draft => ({
  type,
  status: 'False',
  reason,
  ...(message === undefined ? {} : { message }),
});

function unreadyMessage(unready: readonly string[], unknown: readonly string[], verb: string): string {
  return [
    ...(unknown.length > 0 ? [`containers with unknown status: [${unknown.join(' ')}]`] : []),
    ...(unready.length > 0 ? [`containers with ${verb} status: [${unready.join(' ')}]`] : []),
  ].join(', ');
}

function containersReady(input: PhaseInput, phase: PodPhase): Draft {
  const type = 'ContainersReady';
  if (phase === 'Succeeded') return no(type, 'PodCompleted');
  if (phase === 'Failed') return no(type, 'PodFailed');
  const unknown: string[] = [];
  const unready: string[] = [];
  const sidecars = (input.pod.spec.initContainers ?? []).filter(isSidecar);
  for (const { name } of [...sidecars, ...input.pod.spec.containers]) {
    const status = [...input.init, ...input.containers].find((s) => s.name === name);
    if (!status) unknown.push(name);
    else if (!status.ready) unready.push(name);
  }
  if (unknown.length + unready.length === 0) return yes(type);
  return no(type, 'ContainersNotReady', unreadyMessage(unready, unknown, 'unready'));
}

function ready(pod: Pod, containers: Draft, current: readonly PodCondition[]): Draft {
  const type = 'Ready';
  if (containers.status !== 'True') return { ...containers, type };
  const missing: string[] = [];
  for (const gate of pod.spec.readinessGates ?? []) {
    const condition = current.find((c) => c.type === gate.conditionType);
    if (!condition)
      missing.push(`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`);
    else if (condition.status !== 'True') {
      missing.push(
        `the status of pod readiness gate "${gate.conditionType}" is not "True", but ${condition.status}`,
      );
    }
  }
  return missing.length === 0 ? yes(type) : no(type, 'ReadinessGatesNotReady', missing.join(', '));
}

function initialized(input: PhaseInput, phase: PodPhase): Draft {
  const type = 'Initialized';
  if (phase === 'Succeeded') return yes(type, 'PodCompleted');
  const begun = input.containers.some(
    (s) => s.state?.running || s.state?.terminated || s.lastState?.terminated,
  );
  if (begun) return yes(type);
  const incomplete: string[] = [];
  for (const container of input.pod.spec.initContainers ?? []) {
    const status = input.init.find((s) => s.name === container.name);
    const done = isSidecar(container) ? status?.started === true : status?.ready === true;
    if (!done) incomplete.push(container.name);
  }
  return incomplete.length === 0
    ? yes(type)
    : no(type, 'ContainersNotInitialized', unreadyMessage(incomplete, [], 'incomplete'));
}

/** The kubelet's own conditions; `lastTransitionTime` stays while the status stays. */
export function podConditions(
  input: PhaseInput & { readonly hasSandbox: boolean; readonly now: string },
  phase: PodPhase,
  current: PodStatus | undefined,
): PodCondition[] {
  const before = current?.conditions ?? [];
  const containers = containersReady(input, phase);
  const drafts: Draft[] = [
    { type: 'PodReadyToStartContainers', status: input.hasSandbox ? 'True' : 'False' },
    initialized(input, phase),
    ready(input.pod, containers, before),
    containers,
    yes('PodScheduled'),
  ];
  const generation = input.pod.metadata.generation;
  return drafts.map((draft) => {
    const old = before.find((c) => c.type === draft.type);
    const time = old?.status === draft.status ? old.lastTransitionTime : undefined;
    return {
      ...draft,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastProbeTime: null as unknown as string,
      lastTransitionTime: time ?? input.now,
    };
  });
}
