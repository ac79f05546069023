// NodeResourcesFit: the pod's requests must fit in what the node has left; emptier nodes score higher.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PluginArgs } from '../config/plugin-args.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Change, Plugin } from '../framework/plugin.ts';
import { nonZeroRequestOf, type Resources, requestOf, resourcesFrom } from '../framework/resources.ts';
import { scorerOf, type WantedResources } from '../framework/scoring-strategy.ts';
import { unresolvable, unschedulable } from '../framework/status.ts';

type Args = PluginArgs['NodeResourcesFit'];

const key = stateKey<WantedResources>('NodeResourcesFit');

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

/** What extenders look after, or nobody does. */
function isIgnored(name: string, { ignoredResourceGroups, ignoredResources }: Args): boolean {
  return ignoredResources.includes(name) || ignoredResourceGroups.includes(name.split('/')[0] ?? '');
}

function withoutIgnored(request: Resources, args: Args): Resources {
  if (args.ignoredResources.length + args.ignoredResourceGroups.length === 0) return request;
  const scalars = new Map([...request.scalars].filter(([name]) => !isIgnored(name, args)));
  return { ...request, scalars };
}

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

export const nodeResourcesFit = (args: Args): Plugin => {
  const score = scorerOf(args.scoringStrategy);
  return {
    name: 'NodeResourcesFit',
    requeueOn: [
      'AssignedPodDelete',
      { on: ['AssignedPodUpdatePodScaleDown'], helps: freesWhatIsAskedFor },
      'UnschedulablePodUpdatePodScaleDown',
      { on: ['NodeAdd', 'NodeUpdateNodeAllocatable'], helps: hasRoomNow },
    ],
    preFilter: (state, pod) => {
      state.write(key, { request: withoutIgnored(requestOf(pod), args), nonZero: nonZeroRequestOf(pod) });
      return undefined;
    },
    filter: (state, _pod, node) => {
      const wanted = state.read(key);
      if (!wanted) return undefined;
      const { reasons, never } = insufficientResources(wanted.request, node);
      if (reasons.length === 0) return undefined;
      return never ? unresolvable(...reasons) : unschedulable(...reasons);
    },
    score: (state, _pod, node) => {
      const wanted = state.read(key);
      return wanted ? score(node, wanted) : 0;
    },
  };
};
