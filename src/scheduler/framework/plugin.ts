// The extension points of the scheduling framework; a plugin implements those that it has.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo } from './node-info.ts';
import type { Snapshot } from './snapshot.ts';
import type { Result, Status } from './status.ts';

export const maxNodeScore = 100;

/** Of a pod that waits. All but the last say what of it has changed. */
export const podUpdates = [
  'UnschedulablePodUpdatePodLabel',
  'UnschedulablePodUpdatePodSchedulingGatesEliminated',
  'UnschedulablePodUpdatePodToleration',
  'UnschedulablePodUpdate',
] as const;
export type PodUpdate = (typeof podUpdates)[number];

export const storageEvents = [
  'PersistentVolumeAdd',
  'PersistentVolumeUpdate',
  'PersistentVolumeClaimAdd',
  'PersistentVolumeClaimUpdate',
  'storage.k8s.io/StorageClassAdd',
  'storage.k8s.io/StorageClassUpdate',
] as const;
export type StorageEvent = (typeof storageEvents)[number];

/** That its labels have changed is what is told of a namespace. */
export const namespaceEvents = ['NamespaceAdd', 'NamespaceUpdate'] as const;

/** A change in the cluster that may make a pod schedulable, by upstream's label of it (ClusterEvent.Label). */
export type ClusterEvent =
  | 'NodeAdd'
  | 'NodeUpdateNodeAllocatable'
  | 'NodeUpdateNodeLabel'
  | 'NodeUpdateNodeTaint'
  | 'AssignedPodAdd'
  | 'AssignedPodDelete'
  | PodUpdate
  | StorageEvent
  | (typeof namespaceEvents)[number]
  | 'ForceActivate';

export interface PreFilterResult {
  /** When set, only these nodes are looked at. */
  readonly nodeNames?: ReadonlySet<string>;
  readonly status?: Status;
}

export interface NodeScore {
  readonly node: string;
  score: number;
}

export interface Plugin {
  /** Upstream's registered name: NodeResourcesFit. */
  readonly name: string;
  /** Events after which a pod that this plugin refused is worth another try. */
  readonly requeueOn?: readonly ClusterEvent[];
  preEnqueue?(pod: Pod): Result;
  /** Sort order of the queue: true when `a` goes before `b`. */
  less?(a: QueuedPod, b: QueuedPod): boolean;
  preFilter?(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterResult | undefined;
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Result;
  /** After no node passed: may make room (preemption). Returns the node nominated. */
  postFilter?(
    state: CycleState,
    pod: Pod,
    snapshot: Snapshot,
    statuses: ReadonlyMap<string, Status>,
  ): Promise<PostFilterResult> | PostFilterResult;
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): Result;
  score?(state: CycleState, pod: Pod, node: NodeInfo): number;
  /** Brings the plugin's raw scores to 0…100, in place. */
  normalizeScores?(state: CycleState, pod: Pod, scores: NodeScore[]): void;
  reserve?(state: CycleState, pod: Pod, node: string): Result;
  unreserve?(state: CycleState, pod: Pod, node: string): void;
  permit?(state: CycleState, pod: Pod, node: string): Result;
  preBind?(state: CycleState, pod: Pod, node: string): Promise<Result> | Result;
  /** undefined: this plugin does not bind the pod, ask the next. */
  bind?(state: CycleState, pod: Pod, node: string): Promise<{ readonly status: Result }> | undefined;
  postBind?(state: CycleState, pod: Pod, node: string): void;
}

export interface PostFilterResult {
  readonly nominatedNode?: string;
  /** Completes the message: `preemption: 0/2 nodes are available: …`. */
  readonly message: string;
}

/** A pod with its scheduling history. */
export interface QueuedPod {
  /** The newest version seen. */
  pod: Pod;
  readonly key: string;
  readonly priority: number;
  /** When it entered the active queue first, in ms; before that, when it came. */
  readonly addedAt: number;
  readonly attempts: number;
  /** Plugins that refused it last time. */
  readonly refusedBy: ReadonlySet<string>;
}

export interface WeightedPlugin {
  readonly plugin: Plugin;
  /** Weight of its score. */
  readonly weight: number;
}
