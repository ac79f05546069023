// The extension points of the scheduling framework; a plugin implements those that it has.
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from '../../api/generated/types/core-v1.ts';
import type { ResourceClaim } from '../../api/generated/types/resource-v1.ts';
import type { CSINode, StorageClass, VolumeAttachment } from '../../api/generated/types/storage-v1.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo, PodInfo } from './node-info.ts';
import type { Snapshot } from './snapshot.ts';
import type { NodeStatuses, Result, Status } from './status.ts';

export const maxNodeScore = 100;

/** Of a pod that waits. All but the last say what of it has changed. */
const podUpdates = [
  'UnschedulablePodUpdatePodLabel',
  'UnschedulablePodUpdatePodSchedulingGatesEliminated',
  'UnschedulablePodUpdatePodToleration',
  'UnschedulablePodUpdatePodScaleDown',
  'UnschedulablePodUpdatePodGeneratedResourceClaim',
  'UnschedulablePodUpdate',
] as const;
export type PodUpdate = (typeof podUpdates)[number];

const storageEvents = [
  'PersistentVolumeAdd',
  'PersistentVolumeUpdate',
  'PersistentVolumeClaimAdd',
  'PersistentVolumeClaimUpdate',
  'storage.k8s.io/StorageClassAdd',
  'storage.k8s.io/StorageClassUpdate',
  'storage.k8s.io/CSINodeAdd',
  'storage.k8s.io/CSINodeUpdate',
  'storage.k8s.io/VolumeAttachmentDelete',
] as const;
export type StorageEvent = (typeof storageEvents)[number];

/** That its labels have changed is what is told of a namespace. */
export const namespaceEvents = ['NamespaceAdd', 'NamespaceUpdate'] as const;

/** A change in the cluster that may make a pod schedulable, by upstream's label of it (ClusterEvent.Label). */
export type ClusterEvent =
  | 'NodeAdd'
  | 'NodeDelete'
  | 'NodeUpdateNodeAllocatable'
  | 'NodeUpdateNodeLabel'
  | 'NodeUpdateNodeTaint'
  | 'NodeUpdateNodeDeclaredFeature'
  | 'AssignedPodAdd'
  | 'AssignedPodDelete'
  | 'AssignedPodUpdatePodLabel'
  | 'AssignedPodUpdatePodScaleDown'
  | PodUpdate
  | StorageEvent
  | (typeof namespaceEvents)[number]
  | `${'ResourceClaim' | 'DeviceClass' | 'ResourceSlice'}${'Add' | 'Update'}`
  | 'ForceActivate';

/** What has changed, as far as somebody asks: before and after. */
export interface Change {
  readonly oldNode?: Node | undefined;
  readonly node?: Node | undefined;
  readonly oldPod?: Pod | undefined;
  readonly pod?: Pod | undefined;
  readonly claim?: PersistentVolumeClaim | undefined;
  readonly oldVolume?: PersistentVolume | undefined;
  readonly volume?: PersistentVolume | undefined;
  readonly storageClass?: StorageClass | undefined;
  readonly attachment?: VolumeAttachment | undefined;
  readonly oldResourceClaim?: ResourceClaim | undefined;
  readonly resourceClaim?: ResourceClaim | undefined;
  readonly oldCsiNode?: CSINode | undefined;
  readonly csiNode?: CSINode | undefined;
}

/** Upstream's queueing hint: whether such a change may help a pod that the plugin refused. */
export interface Hint {
  readonly on: readonly ClusterEvent[];
  helps(pod: Pod, change: Change): boolean;
}

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
  /** Events after which a pod that this plugin refused is worth another try; a hint looks at what it was. */
  readonly requeueOn?: readonly (ClusterEvent | Hint)[];
  preEnqueue?(pod: Pod): Result;
  /** Sort order of the queue: true when `a` goes before `b`. */
  less?(a: QueuedPod, b: QueuedPod): boolean;
  preFilter?(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterResult | undefined;
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Result;
  /** What preFilter computed, as if another pod were on the node, too; its key must be one that can be cloned. */
  addPod?(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void;
  /** The same without a pod that is there. */
  removePod?(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void;
  /** After no node passed: may make room (preemption). */
  postFilter?(
    state: CycleState,
    pod: Pod,
    search: FailedSearch,
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

/** Asks the filters what would be if other pods were on a node. */
export interface WhatIf {
  /** Nominated pods count, as in a search. */
  fits(state: CycleState, pod: Pod, node: NodeInfo): Result;
  add(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void;
  remove(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void;
}

export interface FailedSearch {
  readonly snapshot: Snapshot;
  readonly statuses: NodeStatuses;
  readonly whatIf: WhatIf;
}

export interface PostFilterResult {
  /** Room was made on it; '' takes a nomination back; undefined leaves it as it is. */
  readonly nominatedNode?: string;
  /** Undefined is success: the pod may fit next time. The reasons complete the message: `preemption: 0/2 nodes are available: …`. */
  readonly status: Result;
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
