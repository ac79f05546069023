// Which nodes a cluster has and what they are called: pure.
import type { NodeRecord } from './cluster-state.ts';

export interface NodeCounts {
  readonly linux: number;
  readonly windows: number;
  readonly windowsBuild: number;
  readonly windowsTaint?: boolean | undefined;
}

export type PlannedNode = Omit<NodeRecord, 'ip' | 'netns'>;

export function planNodes(counts: NodeCounts): PlannedNode[] {
  const numbered = (os: 'linux' | 'windows', count: number): PlannedNode[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `${os}-${i + 1}`,
      os,
      ...(os === 'windows' ? { windowsBuild: counts.windowsBuild } : {}),
      ...(os === 'windows' && counts.windowsTaint === true ? { windowsTaint: true } : {}),
    }));
  return [...numbered('linux', counts.linux), ...numbered('windows', counts.windows)];
}
