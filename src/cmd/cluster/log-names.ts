// What `porthole logs` tells apart: the processes of a cluster, as their files are named; pure.
import type { ClusterState } from './cluster-state.ts';

const ofRegistry: readonly string[] = ['registry', 'registry-for-nodes'];

/** Nodes go by their own names, which are none of these. */
export const logNames: readonly string[] = ['server', 'supervisor', ...ofRegistry];

/** Those of one cluster. */
export const logsOf = ({ nodes, registryPort }: Pick<ClusterState, 'nodes' | 'registryPort'>): string[] => [
  ...logNames.filter((name) => registryPort !== undefined || !ofRegistry.includes(name)),
  ...nodes.map(({ name }) => name),
];
