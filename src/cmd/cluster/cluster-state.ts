// What `up` leaves behind for `status` and `down`: one JSON file a cluster, and the layout of its folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { clusterFiles, copyOf, isClusterFolder } from '../compose/cluster-folder.ts';
import { type RunningProcess, supervisedProcesses } from '../supervisor/supervision.ts';
import { endingCluster, noSuchCluster, parseClusterName, stoppedCluster } from './cluster-name.ts';
import type { ExtraFlag } from './extra-config.ts';
import type { Mirrors } from './registries/mirrors.ts';

export interface NodeRecord {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  /** Empty until the node has its namespace. */
  readonly ip: string;
  readonly netns?: string;
  readonly windowsBuild?: number;
  readonly windowsTaint?: true;
}

export type RuntimeKind = 'containerd' | 'simulated';

export interface ClusterState {
  readonly name: string;
  /** In the names of all that the cluster has on this machine; see cluster-id. */
  readonly id: string;
  readonly version: 1;
  readonly runtime: RuntimeKind;
  readonly topology: string;
  readonly server: string;
  /** Of the cluster DNS, on the machine's address on the fabric; a simulated cluster takes any. */
  readonly dnsPort?: number | undefined;
  /** Where the server listens besides loopback and fabric. */
  readonly bindAddress?: string | undefined;
  /** Pods and nodes reach all that this machine reaches. */
  readonly machineAccess?: boolean | undefined;
  /** What all objects together may take; undefined: the server's default. */
  readonly quotaBackendBytes?: number | undefined;
  /** Where nodes look how registries are to be asked, if not in the home's own folder. */
  readonly registryConfig?: string | undefined;
  /** Asked before a registry itself. */
  readonly registryMirrors?: Mirrors | undefined;
  /** Of the registry beside the cluster, by which its images are named; undefined: there is none. */
  readonly registryPort?: number | undefined;
  /** When nodes evict pods; undefined: what suits somebody's own machine. */
  readonly evictionHard?: string | undefined;
  /** How long a node may be silent; undefined: the server's default. */
  readonly nodeMonitorGracePeriodMs?: number | undefined;
  /** False: Services of type LoadBalancer get no addresses from the cluster itself. */
  readonly loadBalancer?: boolean | undefined;
  /** More flags of the server and of kubelets. */
  readonly extraConfig?: readonly ExtraFlag[] | undefined;
  /** People's kubeconfigs that its context was merged into. */
  readonly mergedInto?: readonly string[] | undefined;
  /** The pods' addresses; no other cluster of this machine has them. */
  readonly clusterCidr: string;
  readonly nodes: readonly NodeRecord[];
  /** What `up` was asked for, when nodes were added or removed since. */
  readonly madeWith?: readonly Omit<NodeRecord, 'ip' | 'netns'>[] | undefined;
  readonly processes: readonly RunningProcess[];
  /** Made by a version that gave names on the machine after the cluster's own: such a one can only be taken down. */
  readonly earlier?: true;
  /** A `down` has begun: what is left of the cluster is only to be removed, or, with 'keep', only to be ended. */
  readonly ending?: true | 'keep';
  /** Nothing of it runs, and `up` goes on with what it has stored: ended by `down --keep`, or not started yet. */
  readonly kept?: true | undefined;
}

export interface ClusterPaths {
  readonly root: string;
  readonly state: string;
  readonly kubeconfig: string;
  readonly server: string;
  /** Which credentials the server keeps renewed. */
  readonly credentials: string;
  readonly logs: string;
  /** What the cluster's own nodes are told of registries. */
  readonly certs: string;
  /** Configuration and content of the registry beside the cluster. */
  readonly registry: string;
  node(name: string): string;
}

export function clusterPaths(home: string, name: string): ClusterPaths {
  const root = join(home, 'clusters', parseClusterName(name));
  return {
    root,
    state: join(root, clusterFiles.record),
    kubeconfig: join(root, 'kubeconfig'),
    server: join(root, 'server'),
    credentials: join(root, clusterFiles.credentials),
    logs: join(root, 'logs'),
    certs: join(root, 'certs.d'),
    registry: join(root, 'registry'),
    node: (node) => join(root, 'nodes', node),
  };
}

type StoredState = Omit<ClusterState, 'id'> & { readonly id?: string };

function readRecord(file: string): StoredState | undefined {
  try {
    const state = JSON.parse(readFileSync(file, 'utf8')) as StoredState | null;
    return Array.isArray(state?.nodes) && Array.isArray(state.processes) ? state : undefined;
  } catch {
    return undefined; // missing, damaged, or cut by a power cut
  }
}

/** Whether a cluster is there, also one whose record is gone. */
export const isClusterThere = (paths: ClusterPaths): boolean => isClusterFolder(paths.root);

/** Throws Error with the next step when there is a cluster, and neither its record nor the copy can be read. */
export function readClusterState(paths: ClusterPaths): ClusterState | undefined {
  const state = readRecord(paths.state) ?? readRecord(copyOf(paths.state));
  if (state === undefined) {
    if (!isClusterThere(paths)) return undefined;
    throw new Error(
      `${paths.state} cannot be read, nor can its copy; nothing was touched. Bring one of the two back; or, to give the cluster and its data up, end the processes that have ${paths.root} in their arguments, and remove that folder, which holds ${readdirSync(paths.root).sort().join(', ')}`,
    );
  }
  // Since it was written the supervisor may have started some again.
  const processes = supervisedProcesses(paths.root) ?? state.processes;
  return {
    ...state,
    id: state.id ?? state.name,
    ...(state.id === undefined ? { earlier: true } : {}),
    processes,
  };
}

/** Throws Error with the next step when nobody can work on its nodes. */
export function workableCluster({ home, name }: { home: string; name: string }): ClusterState {
  const state = readClusterState(clusterPaths(home, name));
  if (!state) throw new Error(noSuchCluster(name));
  if (state.ending) throw new Error(endingCluster(state));
  if (state.kept) throw new Error(stoppedCluster(name));
  if (state.earlier)
    throw new Error(
      `cluster ${JSON.stringify(name)} was made by an earlier version of Porthole; it can only be taken down`,
    );
  return state;
}

export function writeClusterState(paths: ClusterPaths, state: ClusterState): void {
  makeFolderDurably(paths.root);
  const text = `${JSON.stringify(state, null, 2)}\n`;
  for (const file of [paths.state, copyOf(paths.state)]) writeDurably(file, text);
}

export function clusterNames(home: string): string[] {
  const folder = join(home, 'clusters');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
