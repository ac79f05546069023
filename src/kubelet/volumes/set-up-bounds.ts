// How many mounts one pod may have of the node's table, which all pods share.
import type { Pod, Volume, VolumeMount } from '../../api/generated/types/core-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import type { AnyContainer } from '../pod-format.ts';
import { VolumeError } from './volume-manager.ts';

/** A node that is full of such pods stays below the 100,000 mounts that Linux allows (fs.mount-max). */
const maxMounts = 500;

const isInMemory = ({ emptyDir, secret, projected }: Volume): boolean =>
  emptyDir?.medium === 'Memory' || secret !== undefined || projected !== undefined;

/** It leads into a volume. */
export const isSubPath = ({ subPath, subPathExpr }: VolumeMount): boolean => Boolean(subPath || subPathExpr);

const containersOf = ({ spec }: Pod): AnyContainer[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...(spec.ephemeralContainers ?? []),
];

export interface MountsToCheck {
  readonly pod: Pod;
  readonly nodeOs: Pick<NodeOs, 'hasMemoryVolumes'>;
  /** Default all of the pod. */
  readonly containers?: readonly AnyContainer[];
  /** Whether the kubelet mounts it before the runtime does. Until the volumes are found, what leads into one is all that is known. */
  readonly isPinned?: (mount: VolumeMount) => boolean;
}

/** Throws VolumeError for more than a pod may have. */
export function checkMounts({
  pod,
  nodeOs,
  containers = containersOf(pod),
  isPinned = isSubPath,
}: MountsToCheck): void {
  const mounted = nodeOs.hasMemoryVolumes ? (pod.spec.volumes ?? []).filter(isInMemory) : [];
  const pins = containers.flatMap(({ volumeMounts = [] }) => volumeMounts).filter(isPinned);
  const beyond = [...mounted, ...pins][maxMounts];
  if (beyond === undefined) return;
  const text = `the pod has ${mounted.length} volumes in memory (emptyDir, secret, projected) and ${pins.length} mounts by subPath or of paths of the node (hostPath, claims), together at most ${maxMounts} are mounted`;
  throw new VolumeError(beyond.name, new Error(text));
}
