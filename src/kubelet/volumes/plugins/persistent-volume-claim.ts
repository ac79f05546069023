// persistentVolumeClaim: a bound claim whose volume is a folder of this node (local or hostPath).
import { persistentvolumeclaims, persistentvolumes } from '../../../api/generated/resources.ts';
import { podNamespace } from '../../pod-format.ts';
import { hostLocation } from '../host-location.ts';
import type { VolumePlugin } from '../volume-plugin.ts';

/** A claim's folder is for whatever user its pods have. */
const mode = 0o777;

export const persistentVolumeClaim: VolumePlugin = {
  name: 'kubernetes.io/persistent-volume-claim',
  supports: (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { client, pod, volume } = context;
    const name = volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;
    const namespace = podNamespace(pod);
    const claim = await client.get(persistentvolumeclaims, { name, namespace });
    const volumeName = claim.spec?.volumeName ?? '';
    if (claim.status?.phase !== 'Bound' || volumeName === '') {
      throw new Error(`PVC ${namespace}/${name} is not bound`);
    }
    const persistent = await client.get(persistentvolumes, { name: volumeName });
    const path = persistent.spec?.local?.path ?? persistent.spec?.hostPath?.path;
    if (path === undefined) throw new Error(`no volume plugin matched for PersistentVolume ${volumeName}`);
    if (path.includes('\0') || path.split(/[\\/]/).includes('..')) {
      throw new Error(`the path of PersistentVolume ${volumeName} must not contain '..' or NUL`);
    }
    if (!persistent.spec?.local)
      return hostLocation(context, path, { type: persistent.spec?.hostPath?.type ?? '', mode });
    try {
      return await hostLocation(context, path, { type: 'Directory', mode });
    } catch (error) {
      throw new Error(`path "${path}" does not exist`, { cause: error });
    }
  },
};
