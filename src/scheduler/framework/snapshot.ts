// The nodes as one scheduling cycle sees them.
import { systemOf } from '../../component-helpers/pod-system.ts';
import type { NodeInfo } from './node-info.ts';

export interface Snapshot {
  /** All nodes, zones interleaved where there are zones. */
  readonly nodes: readonly NodeInfo[];
  /** Operating systems of the nodes, by their labels. */
  readonly systems: ReadonlySet<string | undefined>;
  get(name: string): NodeInfo | undefined;
}

export function snapshotOf(nodes: readonly NodeInfo[]): Snapshot {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return {
    nodes,
    systems: new Set(nodes.map((node) => systemOf(node.node))),
    get: (name) => byName.get(name),
  };
}
