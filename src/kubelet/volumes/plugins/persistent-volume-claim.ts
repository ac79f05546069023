// persistentVolumeClaim: a bound claim whose volume is a folder of this node (local or hostPath).
import { persistentvolumeclaims, persistentvolumes } from '../../../api/generated/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/generated/types/core-v1.ts';
import type { ResourceRef } from '../../../apimachinery/resource-ref.ts';
import { claimOf, foreignClaim } from '../../../component-helpers/pod-claims.ts';
import { failureText, podNamespace } from '../../pod-format.ts';
import { hostLocation } from '../host-location.ts';
import { ClaimError } from '../volume-manager.ts';
import type { VolumeContext, VolumePlugin } from '../volume-plugin.ts';

/** A claim's folder is for whatever user its pods have. */
const mode = 0o777;

/** A pod that is going to start must not take hold of a claim that is going away; one that runs keeps it. */
const isStarting = ({ status }: Pod): boolean => (status?.phase ?? 'Pending') === 'Pending';

/** Why a claim is of no use to this pod, as upstream says it; undefined when it is bound to a volume. */
function claimProblem(pod: Pod, { metadata, spec, status }: PersistentVolumeClaim): string | undefined {
  if (metadata.deletionTimestamp !== undefined && isStarting(pod)) return 'PVC is being deleted';
  if (status?.phase !== 'Bound') return 'PVC is not bound';
  return (spec?.volumeName ?? '') === '' ? 'PVC has empty pvc.Spec.VolumeName' : undefined;
}

/** A volume that was given to another claim, even to one of the same name, holds what is not this pod's. */
function volumeProblem({ metadata, spec }: PersistentVolume, claimUid: string): string | undefined {
  const found = `found PV object ${metadata.name} but`;
  if (spec?.claimRef === undefined)
    return `${found} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  const { uid = '' } = spec.claimRef;
  return uid === claimUid
    ? undefined
    : `${found} its pv.Spec.ClaimRef.UID ${uid} does not point to claim.UID ${claimUid}`;
}

async function volumeOfClaim({ client, pod, volume }: VolumeContext): Promise<PersistentVolume> {
  const namespace = podNamespace(pod);
  const name = claimOf(pod, volume) ?? '';
  const refuse = (problem: string): never => {
    throw new ClaimError(`error processing PVC ${namespace}/${name}: ${problem}`);
  };
  const fetch = async <T>(
    resource: ResourceRef<T>,
    key: { name: string; namespace?: string },
    what: string,
  ) => {
    try {
      return await client.get(resource, key);
    } catch (error) {
      return refuse(`failed to fetch ${what} from API server: ${failureText(error)}`);
    }
  };
  const claim = await fetch(persistentvolumeclaims, { name, namespace }, 'PVC');
  const problem = claimProblem(pod, claim);
  if (problem !== undefined) refuse(problem);
  const foreign = volume.ephemeral === undefined ? undefined : foreignClaim(pod, claim);
  if (foreign !== undefined) throw new ClaimError(foreign);
  const volumeName = claim.spec?.volumeName ?? '';
  const persistent = await fetch(persistentvolumes, { name: volumeName }, `PV ${volumeName}`);
  const mismatch = volumeProblem(persistent, claim.metadata.uid ?? '');
  return mismatch === undefined ? persistent : refuse(mismatch);
}

export const persistentVolumeClaim: VolumePlugin = {
  name: 'kubernetes.io/persistent-volume-claim',
  supports: (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { metadata, spec } = await volumeOfClaim(context);
    const path = spec?.local?.path ?? spec?.hostPath?.path;
    if (path === undefined) throw new Error(`no volume plugin matched for PersistentVolume ${metadata.name}`);
    if (path.includes('\0') || path.split(/[\\/]/).includes('..')) {
      throw new Error(`the path of PersistentVolume ${metadata.name} must not contain '..' or NUL`);
    }
    if (!spec?.local) return hostLocation(context, path, { type: spec?.hostPath?.type ?? '', mode });
    try {
      return await hostLocation(context, path, { type: 'Directory', mode });
    } catch (error) {
      throw new Error(`path "${path}" does not exist`, { cause: error });
    }
  },
};
