// PodSystem: a pod goes to nodes of its operating system, which it says, its images show, or which is Linux.
import { isMixed, isOfSystem, podSystem } from '../../component-helpers/pod-system.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { Plugin } from '../framework/plugin.ts';
import { skip, unresolvable } from '../framework/status.ts';

const key = stateKey<string>('PodSystem');

export const podSystemPlugin: Plugin = {
  name: 'PodSystem',
  requeueOn: ['NodeAdd', 'NodeUpdateNodeLabel', 'UnschedulablePodUpdate'],
  preFilter: (state, pod, snapshot) => {
    if (pod.spec.os === undefined && !isMixed(snapshot.systems)) return { status: skip };
    const nodes = snapshot.nodes.map((node) => ({
      labels: node.node.metadata.labels,
      hasImage: (name: string) => node.images.has(name),
    }));
    const system = podSystem(pod.spec, nodes);
    if (system === undefined) return { status: skip };
    state.write(key, system);
    return undefined;
  },
  filter: (state, _pod, node) =>
    isOfSystem(node.node.metadata.labels, state.read(key))
      ? undefined
      : unresolvable(`node(s) didn't have the pod's operating system {${state.read(key)}}`),
};
