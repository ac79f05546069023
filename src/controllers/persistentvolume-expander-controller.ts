// Says of a bound claim that asks for more than it has who is waited for: no kind of volume is made larger by this server itself.
import { persistentvolumeclaims, persistentvolumes } from '../api/generated/resources.ts';
import type { PersistentVolumeClaim } from '../api/generated/types/core-v1.ts';
import { compareQuantities, tryParseQuantity } from '../apimachinery/quantity.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';

/** Whether it asks for more than it has. */
function wantsMore({ spec, status }: PersistentVolumeClaim): boolean {
  const asked = tryParseQuantity(spec?.resources?.requests?.['storage'] ?? '');
  const has = tryParseQuantity(status?.capacity?.['storage'] ?? '');
  return asked !== undefined && has !== undefined && compareQuantities(asked, has) > 0;
}

export const persistentVolumeExpanderController: Controller = defineController({
  name: 'persistentvolume-expander-controller',
  queue: 'volume_expand',
  serviceAccount: 'expand-controller',
  for: persistentvolumeclaims,
  reads: [persistentvolumes],
  access: [mayRecordEvents],
  async reconcile({ name, namespace }, context) {
    const claim = context.read(persistentvolumeclaims).get(name, namespace);
    if (claim === undefined || !wantsMore(claim)) return undefined;
    const volume = context.read(persistentvolumes).get(claim.spec?.volumeName ?? '');
    if (volume?.spec?.claimRef?.uid !== claim.metadata.uid) return undefined;
    const text =
      "didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC";
    context.events.event(referenceTo(persistentvolumeclaims, claim), 'Normal', 'ExternalExpanding', text);
    return undefined;
  },
});
