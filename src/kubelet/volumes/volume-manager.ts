// The volumes of pods on this node, as the rest of the kubelet sees them.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Mount } from '../../rpc-api/generated/cri-v1.ts';
import { type AnyContainer, failureText } from '../pod-format.ts';

/** A claim that leads to no volume for this pod. Its text is upstream's, whole. */
export class ClaimError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ClaimError';
  }
}

/** A volume that can't be set up; the container waits and it is tried again. The message is the event's. */
export class VolumeError extends Error {
  constructor(volume: string, cause: unknown) {
    const text = failureText(cause);
    super(
      cause instanceof ClaimError
        ? `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${text}`
        : `MountVolume.SetUp failed for volume "${volume}" : ${text}`,
    );
    this.name = 'VolumeError';
  }
}

export interface MountedVolumes {
  /** Mounts of one container; throws Error when a path can't be mounted, or the pod is to end. */
  mountsOf(
    container: AnyContainer,
    environment: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<readonly Mount[]>;
  /** Once the container was started or failed to: it has mounts of its own, and what was mounted for it here goes. */
  release(container: AnyContainer): Promise<void>;
}

export interface VolumeManager {
  /** Sets up what is missing and refreshes what changed; may be called again at any time. Throws VolumeError, or the signal's reason. */
  setUp(pod: Pod, podIPs: readonly string[], signal: AbortSignal): Promise<MountedVolumes>;
  tearDown(pod: Pod): Promise<void>;
  /** When the volumes need a refresh by themselves (tokens), milliseconds from now. */
  refreshInMs(pod: Pod): number | undefined;
}
