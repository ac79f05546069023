// What `up` leaves behind for `status` and `down`: one JSON file a cluster, and the layout of its folder.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseClusterName } from './cluster-name.ts';

/** A process of ours, safe against reuse of its number: the kernel's start time goes with it. */
export interface ProcessRecord {
  readonly role: string;
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat, in clock ticks since boot. */
  readonly startTicks: string;
}

export interface NodeRecord {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly ip: string;
  readonly netns?: string;
  readonly windowsBuild?: number;
}

export type RuntimeKind = 'containerd' | 'simulated';

export interface ClusterState {
  readonly name: string;
  readonly version: 1;
  readonly runtime: RuntimeKind;
  readonly topology: string;
  readonly server: string;
  /** The pods' addresses; no other cluster of this machine has them. */
  readonly clusterCidr: string;
  readonly nodes: readonly NodeRecord[];
  readonly processes: readonly ProcessRecord[];
}

export interface ClusterPaths {
  readonly root: string;
  readonly state: string;
  readonly kubeconfig: string;
  readonly server: string;
  readonly logs: string;
  node(name: string): string;
}

export function clusterPaths(home: string, name: string): ClusterPaths {
  const root = join(home, 'clusters', parseClusterName(name));
  return {
    root,
    state: join(root, 'cluster.json'),
    kubeconfig: join(root, 'kubeconfig'),
    server: join(root, 'server'),
    logs: join(root, 'logs'),
    node: (node) => join(root, 'nodes', node),
  };
}

export function readClusterState(paths: ClusterPaths): ClusterState | undefined {
  if (!existsSync(paths.state)) return undefined;
  return JSON.parse(readFileSync(paths.state, 'utf8')) as ClusterState;
}

export function writeClusterState(paths: ClusterPaths, state: ClusterState): void {
  mkdirSync(paths.root, { recursive: true, mode: 0o700 });
  const fresh = `${paths.state}.new`;
  writeFileSync(fresh, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, paths.state);
}

export function clusterNames(home: string): string[] {
  const folder = join(home, 'clusters');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
