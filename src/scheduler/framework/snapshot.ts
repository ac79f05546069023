// The nodes as one scheduling cycle sees them.
import type { NodeInfo } from './node-info.ts';

export interface Snapshot {
  /** All nodes, zones interleaved where there are zones. */
  readonly nodes: readonly NodeInfo[];
  get(name: string): NodeInfo | undefined;
}

export function snapshotOf(nodes: readonly NodeInfo[]): Snapshot {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return { nodes, get: (name) => byName.get(name) };
}
