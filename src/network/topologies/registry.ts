// The topologies there are, by name.
import type { Topology, TopologyName } from '../topology.ts';
import { hostGateway } from './host-gateway.ts';

const topologies: Readonly<Record<TopologyName, Topology>> = { 'host-gateway': hostGateway };

const topologyNames: readonly string[] = Object.keys(topologies).sort();

export function topologyByName(name: string): Topology {
  const found = Object.entries(topologies).find(([known]) => known === name)?.[1];
  if (found === undefined)
    throw new Error(`unknown topology ${JSON.stringify(name)}; there are: ${topologyNames.join(', ')}`);
  return found;
}
