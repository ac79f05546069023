// Binds a claim and a volume to each other: four writes, each safe to repeat.
import { persistentvolumeclaims, persistentvolumes } from '../../api/generated/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { referenceTo } from '../../client/event-recorder.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';

export const bindCompleted = 'pv.kubernetes.io/bind-completed';
const boundByController = 'pv.kubernetes.io/bound-by-controller';

/** The volume is kept for the claim first: whoever loses that race changed nothing of the claim. */
async function claimVolume(
  context: ControllerContext,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolume> {
  const before = volume.spec?.claimRef;
  if (before?.uid !== undefined && before.uid === claim.metadata.uid) return volume;
  const annotations =
    before === undefined
      ? { ...volume.metadata.annotations, [boundByController]: 'yes' }
      : volume.metadata.annotations;
  return context.write.update(persistentvolumes, {
    ...volume,
    metadata: { ...volume.metadata, ...(annotations === undefined ? {} : { annotations }) },
    spec: { ...volume.spec, claimRef: referenceTo(persistentvolumeclaims, claim) },
  });
}

async function nameVolume(
  context: ControllerContext,
  claim: PersistentVolumeClaim,
  volumeName: string,
): Promise<PersistentVolumeClaim> {
  const { annotations } = claim.metadata;
  if (claim.spec?.volumeName === volumeName && annotations?.[bindCompleted] !== undefined) return claim;
  const chosen = (claim.spec?.volumeName ?? '') === '' ? { [boundByController]: 'yes' } : {};
  return context.write.update(persistentvolumeclaims, {
    ...claim,
    metadata: {
      ...claim.metadata,
      annotations: { ...annotations, ...chosen, [bindCompleted]: 'yes' },
    },
    spec: { ...claim.spec, volumeName },
  });
}

export async function bindClaim(
  context: ControllerContext,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<void> {
  const claimed = await claimVolume(context, volume, claim);
  if (claimed.status?.phase !== 'Bound')
    await context.write.update(
      persistentvolumes,
      { ...claimed, status: { ...claimed.status, phase: 'Bound' } },
      { subresource: 'status' },
    );
  const named = await nameVolume(context, claim, volume.metadata.name);
  const status = {
    ...named.status,
    phase: 'Bound',
    ...(volume.spec?.accessModes === undefined ? {} : { accessModes: volume.spec.accessModes }),
    // What was resized meanwhile is not made smaller again.
    capacity: named.status?.capacity ?? volume.spec?.capacity,
  };
  if (!semanticEqual(status, named.status))
    await context.write.update(persistentvolumeclaims, { ...named, status }, { subresource: 'status' });
}
