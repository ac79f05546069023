// The record of a cluster without nodes, as `up` writes it.
import type { ClusterState } from '../cluster-state.ts';

export const simulatedState: ClusterState = {
  id: 'x-00000000',
  name: 'x',
  version: 1,
  runtime: 'simulated',
  topology: 'host-gateway',
  server: 'https://127.0.0.1:6443',
  clusterCidr: '10.244.0.0/16',
  nodes: [],
  processes: [],
};
