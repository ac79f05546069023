// NodeResourcesFit: the pod's requests must fit in what the node has left; emptier nodes score higher.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { type Change, maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { nonZeroRequestOf, type Resources, requestOf, resourcesFrom } from '../framework/resources.ts';
import { unresolvable, unschedulable } from '../framework/status.ts';

interface Wanted {
  readonly request: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
}
const key = stateKey<Wanted>('NodeResourcesFit');

/** Names of resources that are short, in upstream's order; `never` when the node could not hold it even empty. */
function insufficientResources(
  request: Resources,
  node: NodeInfo,
): { readonly reasons: string[]; readonly never: boolean } {
  const reasons: string[] = [];
  let never = false;
  const check = (name: string, wanted: number, has: number, used: number): void => {
    if (wanted === 0 || wanted <= has - used) return;
    reasons.push(name);
    if (wanted > has) never = true;
  };
  if (node.pods.size + 1 > node.allocatable.pods) reasons.push('Too many pods');
  check('Insufficient cpu', request.milliCpu, node.allocatable.milliCpu, node.requested.milliCpu);
  check('Insufficient memory', request.memory, node.allocatable.memory, node.requested.memory);
  check(
    'Insufficient ephemeral-storage',
    request.ephemeralStorage,
    node.allocatable.ephemeralStorage,
    node.requested.ephemeralStorage,
  );
  for (const [name, amount] of request.scalars) {
    check(
      `Insufficient ${name}`,
      amount,
      node.allocatable.scalars.get(name) ?? 0,
      node.requested.scalars.get(name) ?? 0,
    );
  }
  return { reasons, never };
}

const free = (capacity: number, used: number): number =>
  capacity <= 0 || used > capacity ? 0 : Math.trunc(((capacity - used) * maxNodeScore) / capacity);

const amounts = ({ milliCpu, memory, ephemeralStorage, scalars }: Resources): ReadonlyMap<string, number> =>
  new Map([['cpu', milliCpu], ['memory', memory], ['ephemeral-storage', ephemeralStorage], ...scalars]);

/** Whether `now` has more of something that the request is about. */
function hasMore(request: Resources, before: Resources, now: Resources): boolean {
  const [wanted, had, has] = [amounts(request), amounts(before), amounts(now)];
  return wanted.entries().some(([name, amount]) => amount > 0 && (has.get(name) ?? 0) > (had.get(name) ?? 0));
}

function freesWhatIsAskedFor(pod: Pod, { oldPod, pod: other }: Change): boolean {
  return (
    oldPod === undefined ||
    other === undefined ||
    hasMore(requestOf(pod), requestOf(other), requestOf(oldPod))
  );
}

/** A node on which it would not fit if it were empty is no help, nor one that has no more of what it asks for. */
function hasRoomNow(pod: Pod, { node, oldNode }: Change): boolean {
  if (node === undefined) return true;
  const request = requestOf(pod);
  const now = resourcesFrom(node.status?.allocatable ?? {});
  const has = amounts(now);
  if (
    now.pods < 1 ||
    amounts(request)
      .entries()
      .some(([name, amount]) => amount > (has.get(name) ?? 0))
  )
    return false;
  if (oldNode === undefined) return true;
  const before = resourcesFrom(oldNode.status?.allocatable ?? {});
  return now.pods > before.pods || hasMore(request, before, now);
}

export const nodeResourcesFit: Plugin = {
  name: 'NodeResourcesFit',
  requeueOn: [
    'AssignedPodDelete',
    { on: ['AssignedPodUpdatePodScaleDown'], helps: freesWhatIsAskedFor },
    'UnschedulablePodUpdatePodScaleDown',
    { on: ['NodeAdd', 'NodeUpdateNodeAllocatable'], helps: hasRoomNow },
  ],
  preFilter: (state, pod) => {
    state.write(key, { request: requestOf(pod), nonZero: nonZeroRequestOf(pod) });
    return undefined;
  },
  filter: (state, _pod, node) => {
    const wanted = state.read(key);
    if (!wanted) return undefined;
    const { reasons, never } = insufficientResources(wanted.request, node);
    if (reasons.length === 0) return undefined;
    return never ? unresolvable(...reasons) : unschedulable(...reasons);
  },
  /** LeastAllocated over cpu and memory, equal weights: upstream's default strategy. */
  score: (state, _pod, node) => {
    const wanted = state.read(key);
    if (!wanted) return 0;
    const cpu = free(node.allocatable.milliCpu, node.nonZeroRequested.milliCpu + wanted.nonZero.milliCpu);
    const memory = free(node.allocatable.memory, node.nonZeroRequested.memory + wanted.nonZero.memory);
    return Math.trunc((cpu + memory) / 2);
  },
};
