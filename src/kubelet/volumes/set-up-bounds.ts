// How many mounts one pod may have of the node's table, which all pods share.
import type { Container, Pod, Volume, VolumeMount } from '../../api/generated/types/core-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import { VolumeError } from './volume-manager.ts';

/** A node that is full of such pods stays below the 100,000 mounts that Linux allows (fs.mount-max). */
const maxMounts = 500;

const isInMemory = ({ emptyDir, secret, projected }: Volume): boolean =>
  emptyDir?.medium === 'Memory' || secret !== undefined || projected !== undefined;

/** What the kubelet mounts for a container before the runtime does: what leads into a volume, and paths of the node. */
function pinsOf({ spec }: Pod): VolumeMount[] {
  const ofNode = new Set(
    (spec.volumes ?? []).filter((volume) => volume.hostPath !== undefined).map(({ name }) => name),
  );
  return [spec.initContainers, spec.containers, spec.ephemeralContainers]
    .flatMap((containers: readonly Pick<Container, 'volumeMounts'>[] = []) => containers)
    .flatMap(({ volumeMounts = [] }) => volumeMounts)
    .filter(({ name, subPath, subPathExpr }) => subPath || subPathExpr || ofNode.has(name));
}

/** Throws VolumeError for more than a pod may have. */
export function checkMounts(pod: Pod, { hasMemoryVolumes }: Pick<NodeOs, 'hasMemoryVolumes'>): void {
  const mounted = hasMemoryVolumes ? (pod.spec.volumes ?? []).filter(isInMemory) : [];
  const pins = pinsOf(pod);
  const beyond = [...mounted, ...pins][maxMounts];
  if (beyond === undefined) return;
  const text = `the pod has ${mounted.length} volumes in memory (emptyDir, secret, projected) and ${pins.length} mounts by subPath or of the node's paths, together at most ${maxMounts} are mounted`;
  throw new VolumeError(beyond.name, new Error(text));
}
