// persistentVolumeClaim: a bound claim whose volume is a folder of this node (local or hostPath).
import { persistentvolumeclaims, persistentvolumes } from '../../../api/generated/resources.ts';
import { podNamespace } from '../../pod-format.ts';
import type { VolumePlugin } from '../volume-plugin.ts';
import { windowsHostPath } from '../windows-host-path.ts';

export const persistentVolumeClaim: VolumePlugin = {
  name: 'kubernetes.io/persistent-volume-claim',
  supports: (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,
  refreshes: false,
  writable: true,
  setUp: async ({ client, files, pod, volume, nodeOs, hostDrive }) => {
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
    const real = nodeOs.name === 'windows' ? windowsHostPath(hostDrive, path) : path;
    if (persistent.spec?.local && (await files.stat(real)) === undefined) {
      throw new Error(`path "${path}" does not exist`);
    }
    await files.makeDirectory(real, 0o777);
    return real;
  },
};
