// Keeps a claim that is to be deleted until no pod uses it.
import { persistentvolumeclaims, pods } from '../api/generated/resources.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { claimsOf, usesClaim } from '../component-helpers/pod-claims.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { finalizersDue, writeFinalizers } from './storage/protect.ts';

const finalizer = 'kubernetes.io/pvc-protection';
const podsByClaim = 'claim';

export const persistentVolumeClaimProtectionController: Controller = defineController({
  name: 'persistentvolumeclaim-protection-controller',
  queue: 'pvcprotection',
  serviceAccount: 'pvc-protection-controller',
  for: persistentvolumeclaims,
  access: [may('update', persistentvolumeclaims), may('list', pods)],
  indexes: [
    index(pods, podsByClaim, (pod) => claimsOf(pod).map((claim) => keyOf(claim, pod.metadata.namespace))),
  ],
  watches: [watching(pods, (pod) => claimsOf(pod).map((claim) => keyOf(claim, pod.metadata.namespace)))],
  async reconcile({ name, namespace }, context) {
    const claim = context.read(persistentvolumeclaims).get(name, namespace);
    if (claim === undefined) return undefined;
    const inUse = context
      .read(pods)
      .byIndex(podsByClaim, keyOf(name, namespace))
      .some((pod) => usesClaim(pod, name));
    const due = finalizersDue(claim, finalizer, inUse);
    if (due === undefined) return undefined;
    if (claim.metadata.deletionTimestamp !== undefined) {
      // The informer may not show a pod yet that was bound a moment ago.
      const live = await context.write.list(pods, { namespace: namespace ?? '' });
      if (live.items.some((pod) => usesClaim(pod, name))) return undefined;
    }
    await writeFinalizers(context, persistentvolumeclaims, claim, due);
    return undefined;
  },
});
