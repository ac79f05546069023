// A pod's row as upstream's printPod: READY, STATUS, RESTARTS and the wide columns.
import type { Json } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { ageOf, humanDuration } from '../../../apimachinery/human-duration.ts';
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../generated/types/core-v1.ts';

/** The reason that upstream gives pods of a node that is gone. */
const nodeUnreachable = 'NodeLost';

interface Restarts {
  count: number;
  last: number;
}

const conditionTrue = (pod: Decoded<Pod>, type: string): boolean =>
  (pod.status?.conditions ?? []).some((c) => c.type === type && c.status === 'True');

const finishedAt = (container: Decoded<ContainerStatus>): number => {
  const text = container.lastState?.terminated?.finishedAt ?? '';
  return text === '' ? 0 : Date.parse(text) || 0;
};
const count = (restarts: Restarts, container: Decoded<ContainerStatus>): void => {
  restarts.count += container.restartCount ?? 0;
  restarts.last = Math.max(restarts.last, finishedAt(container));
};
const terminatedReason = (terminated: Decoded<ContainerStateTerminated>): string => {
  const reason = terminated.reason ?? '';
  if (reason !== '') return reason;
  return (terminated.signal ?? 0) !== 0
    ? `Signal:${terminated.signal ?? 0}`
    : `ExitCode:${terminated.exitCode ?? 0}`;
};

/** `Init:1/3`, `Init:Error` …, or undefined when all init containers are done. */
function initReason(pod: Decoded<Pod>, restarts: Restarts): string | undefined {
  const declared = pod.spec?.initContainers ?? [];
  const restartable = new Set(declared.filter((c) => c.restartPolicy === 'Always').map((c) => c.name ?? ''));
  const statuses = pod.status?.initContainerStatuses ?? [];
  for (let i = 0; i < statuses.length; i++) {
    const container = statuses[i]!;
    count(restarts, container);
    const state = container.state ?? {};
    const terminated = state.terminated;
    const waiting = state.waiting;
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue;
    if (restartable.has(container.name ?? '') && container.started === true) continue;
    if (terminated !== undefined) return `Init:${terminatedReason(terminated)}`;
    if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${i}/${declared.length}`;
  }
  return undefined;
}

/** The STATUS cell; counts restarts on its way, as upstream does. */
function podReason(pod: Decoded<Pod>, restarts: Restarts): { reason: string; ready: number } {
  const podStatus = pod.status ?? {};
  let reason = (podStatus.reason ?? '') || (podStatus.phase ?? '');
  if ((podStatus.conditions ?? []).some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated'))
    reason = 'SchedulingGated';
  let ready = 0;
  const restartable = new Set(
    (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === 'Always').map((c) => c.name ?? ''),
  );
  const sidecars: Restarts = { count: 0, last: 0 };
  for (const s of podStatus.initContainerStatuses ?? [])
    if (restartable.has(s.name ?? '')) {
      count(sidecars, s);
      if (s.ready === true) ready++;
    }
  const init = initReason(pod, restarts);
  if (init) reason = init;
  if (!init || conditionTrue(pod, 'Initialized')) {
    restarts.count = sidecars.count;
    restarts.last = sidecars.last;
    let running = false;
    for (const container of [...(podStatus.containerStatuses ?? [])].reverse()) {
      count(restarts, container);
      const state = container.state ?? {};
      const waiting = state.waiting?.reason ?? '';
      const terminated = state.terminated;
      if (waiting !== '') reason = waiting;
      else if (terminated !== undefined) reason = terminatedReason(terminated);
      else if (container.ready === true && state.running !== undefined) {
        running = true;
        ready++;
      }
    }
    if (reason === 'Completed' && running) reason = conditionTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  }
  if (pod.metadata?.deletionTimestamp) {
    if (podStatus.reason === nodeUnreachable) reason = 'Unknown';
    else if (podStatus.phase !== 'Failed' && podStatus.phase !== 'Succeeded') reason = 'Terminating';
  }
  return { reason, ready };
}

export function podRow(pod: Decoded<Pod>, now: number): Json[] {
  const restarts: Restarts = { count: 0, last: 0 };
  const { reason, ready } = podReason(pod, restarts);
  const total =
    (pod.spec?.containers ?? []).length +
    (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === 'Always').length;
  const gates = pod.spec?.readinessGates ?? [];
  const passed = gates.filter((g) => conditionTrue(pod, g.conditionType ?? '')).length;
  return [
    pod.metadata?.name ?? '',
    `${ready}/${total}`,
    reason,
    restarts.count !== 0 && restarts.last !== 0
      ? `${restarts.count} (${humanDuration(now - restarts.last)} ago)`
      : String(restarts.count),
    ageOf(pod.metadata?.creationTimestamp, now),
    ((pod.status?.podIPs ?? [])[0]?.ip ?? '') || (pod.status?.podIP ?? '') || '<none>',
    (pod.spec?.nodeName ?? '') || '<none>',
    (pod.status?.nominatedNodeName ?? '') || '<none>',
    gates.length === 0 ? '<none>' : `${passed}/${gates.length}`,
  ];
}
