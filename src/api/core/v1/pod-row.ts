// A pod's row as upstream's printPod: READY, STATUS, RESTARTS and the wide columns.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { ageOf, humanDuration } from '../../../apimachinery/human-duration.ts';
import { arr, isObject, meta, num, obj, objs, spec, status, str } from '../../../apimachinery/json-access.ts';

/** The reason that upstream gives pods of a node that is gone. */
const nodeUnreachable = 'NodeLost';

interface Restarts {
  count: number;
  last: number;
}

const conditionTrue = (pod: JsonObject, type: string): boolean =>
  objs(status(pod)['conditions']).some((c) => c['type'] === type && c['status'] === 'True');

const finishedAt = (container: JsonObject): number => {
  const text = str(obj(obj(container['lastState'])['terminated'])['finishedAt']);
  return text === '' ? 0 : Date.parse(text) || 0;
};
const count = (restarts: Restarts, container: JsonObject): void => {
  restarts.count += num(container['restartCount']);
  restarts.last = Math.max(restarts.last, finishedAt(container));
};
const terminatedReason = (terminated: JsonObject): string => {
  const reason = str(terminated['reason']);
  if (reason !== '') return reason;
  return num(terminated['signal']) !== 0
    ? `Signal:${num(terminated['signal'])}`
    : `ExitCode:${num(terminated['exitCode'])}`;
};

/** `Init:1/3`, `Init:Error` …, or undefined when all init containers are done. */
function initReason(pod: JsonObject, restarts: Restarts): string | undefined {
  const declared = objs(spec(pod)['initContainers']);
  const restartable = new Set(
    declared.filter((c) => c['restartPolicy'] === 'Always').map((c) => str(c['name'])),
  );
  const statuses = objs(status(pod)['initContainerStatuses']);
  for (let i = 0; i < statuses.length; i++) {
    const container = statuses[i]!;
    count(restarts, container);
    const state = obj(container['state']);
    const terminated = state['terminated'];
    const waiting = state['waiting'];
    if (isObject(terminated) && num(terminated['exitCode']) === 0) continue;
    if (restartable.has(str(container['name'])) && container['started'] === true) continue;
    if (isObject(terminated)) return `Init:${terminatedReason(terminated)}`;
    if (isObject(waiting) && str(waiting['reason']) !== '' && waiting['reason'] !== 'PodInitializing')
      return `Init:${str(waiting['reason'])}`;
    return `Init:${i}/${declared.length}`;
  }
  return undefined;
}

/** The STATUS cell; counts restarts on its way, as upstream does. */
function podReason(pod: JsonObject, restarts: Restarts): { reason: string; ready: number } {
  const podStatus = status(pod);
  let reason = str(podStatus['reason']) || str(podStatus['phase']);
  if (
    objs(podStatus['conditions']).some(
      (c) => c['type'] === 'PodScheduled' && c['reason'] === 'SchedulingGated',
    )
  )
    reason = 'SchedulingGated';
  let ready = 0;
  const restartable = new Set(
    objs(spec(pod)['initContainers'])
      .filter((c) => c['restartPolicy'] === 'Always')
      .map((c) => str(c['name'])),
  );
  const sidecars: Restarts = { count: 0, last: 0 };
  for (const s of objs(podStatus['initContainerStatuses']))
    if (restartable.has(str(s['name']))) {
      count(sidecars, s);
      if (s['ready'] === true) ready++;
    }
  const init = initReason(pod, restarts);
  if (init) reason = init;
  if (!init || conditionTrue(pod, 'Initialized')) {
    restarts.count = sidecars.count;
    restarts.last = sidecars.last;
    let running = false;
    for (const container of [...objs(podStatus['containerStatuses'])].reverse()) {
      count(restarts, container);
      const state = obj(container['state']);
      const waiting = str(obj(state['waiting'])['reason']);
      const terminated = state['terminated'];
      if (waiting !== '') reason = waiting;
      else if (isObject(terminated)) reason = terminatedReason(terminated);
      else if (container['ready'] === true && isObject(state['running'])) {
        running = true;
        ready++;
      }
    }
    if (reason === 'Completed' && running) reason = conditionTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  }
  if (str(meta(pod)['deletionTimestamp']) !== '') {
    if (podStatus['reason'] === nodeUnreachable) reason = 'Unknown';
    else if (podStatus['phase'] !== 'Failed' && podStatus['phase'] !== 'Succeeded') reason = 'Terminating';
  }
  return { reason, ready };
}

export function podRow(pod: JsonObject, now: number): Json[] {
  const restarts: Restarts = { count: 0, last: 0 };
  const { reason, ready } = podReason(pod, restarts);
  const total =
    arr(spec(pod)['containers']).length +
    objs(spec(pod)['initContainers']).filter((c) => c['restartPolicy'] === 'Always').length;
  const gates = objs(spec(pod)['readinessGates']);
  const passed = gates.filter((g) => conditionTrue(pod, str(g['conditionType']))).length;
  return [
    str(meta(pod)['name']),
    `${ready}/${total}`,
    reason,
    restarts.count !== 0 && restarts.last !== 0
      ? `${restarts.count} (${humanDuration(now - restarts.last)} ago)`
      : String(restarts.count),
    ageOf(meta(pod)['creationTimestamp'], now),
    str(objs(status(pod)['podIPs'])[0]?.['ip']) || str(status(pod)['podIP']) || '<none>',
    str(spec(pod)['nodeName']) || '<none>',
    str(status(pod)['nominatedNodeName']) || '<none>',
    gates.length === 0 ? '<none>' : `${passed}/${gates.length}`,
  ];
}
