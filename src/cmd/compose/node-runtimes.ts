// The runtimes that a node can have, by name.
import type { RuntimeKind } from '../cluster/cluster-state.ts';
import { containerdNode } from './containerd-node.ts';
import type { NodeRuntimeDriver } from './node-runtime-driver.ts';
import { simulatedNode } from './simulated-node.ts';

export const nodeRuntimes: Readonly<Record<RuntimeKind, NodeRuntimeDriver>> = {
  containerd: containerdNode,
  simulated: simulatedNode,
};
