// Keeps a volume that is to be deleted until no claim is bound to it.
import { persistentvolumes } from '../api/generated/resources.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { finalizersDue, writeFinalizers } from './storage/protect.ts';

const finalizer = 'kubernetes.io/pv-protection';

export const persistentVolumeProtectionController: Controller = defineController({
  name: 'persistentvolume-protection-controller',
  queue: 'pvprotection',
  serviceAccount: 'pv-protection-controller',
  for: persistentvolumes,
  access: [may('update', persistentvolumes)],
  async reconcile({ name }, context) {
    const volume = context.read(persistentvolumes).get(name);
    if (volume === undefined) return undefined;
    const due = finalizersDue(volume, finalizer, volume.status?.phase === 'Bound');
    if (due !== undefined) await writeFinalizers(context, persistentvolumes, volume, due);
    return undefined;
  },
});
