// What the node's container runtime says it can do, and what is refused where it can't. Pure.
import type { Pod, VolumeMount } from '../../api/generated/types/core-v1.ts';
import type { Mount, StatusResponse } from '../../rpc-api/generated/cri-v1.ts';
import type { Rejection } from '../node-os/node-os.ts';
import type { AnyContainer } from '../pod-format.ts';

export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
  /** Names of the handlers that make all mounts below a mount read-only, too; the default one is ``. */
  readonly recursiveReadOnlyHandlers: ReadonlySet<string>;
}

/** A runtime that says nothing of a feature is older than it. */
export const featuresOf = ({ features, runtimeHandlers }: StatusResponse): RuntimeFeatures => ({
  supplementalGroupsPolicy: features?.supplementalGroupsPolicy === true,
  recursiveReadOnlyHandlers: new Set(
    (runtimeHandlers ?? []).flatMap(({ name, features: has }) =>
      has?.recursiveReadOnlyMounts === true ? [name ?? ''] : [],
    ),
  ),
});

/** A pod that names its groups strictly must not get those of the image's files besides. */
export function beyondRuntime(pod: Pod, features: RuntimeFeatures): Rejection | undefined {
  if (pod.spec.securityContext?.supplementalGroupsPolicy !== 'Strict' || features.supplementalGroupsPolicy)
    return undefined;
  return {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  };
}

/** Upstream's resolveRecursiveReadOnly. */
function isRecursive(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const asked = `volume "${mount.name}" requested recursive read-only mode, but it is`;
  if (mount.readOnly !== true) throw new Error(`${asked} not read-only`);
  const propagation = mount.mountPropagation ?? 'None';
  if (propagation !== 'None') throw new Error(`${asked} not compatible with propagation "${propagation}"`);
  if (mode === 'Enabled' && !supported) throw new Error(`${asked} not supported by the runtime`);
  return supported;
}

/** `mounts` are those of the container's volumeMounts, in their order. Throws Error where one can't be made so. */
export function withRecursiveReadOnly(
  container: AnyContainer,
  mounts: readonly Mount[],
  supported: boolean,
): Mount[] {
  const asked = container.volumeMounts ?? [];
  return mounts.map((mount, i) =>
    asked[i] !== undefined && isRecursive(asked[i], supported)
      ? { ...mount, recursiveReadOnly: true }
      : mount,
  );
}
