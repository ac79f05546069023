// emptyDir: a folder of the pod's own, on disk or in memory.
import { quantityValue, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { fsGroupOf, ownFolder, type VolumePlugin } from '../volume-plugin.ts';

export const emptyDir: VolumePlugin = {
  name: 'kubernetes.io/empty-dir',
  supports: (volume) => volume.emptyDir !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { files, mounts, dir } = context;
    const source = context.volume.emptyDir!;
    const isNew = (await files.stat(dir)) === undefined;
    await files.makeDirectory(dir, 0o777);
    const inMemory = source.medium === 'Memory' && context.nodeOs.hasMemoryVolumes;
    if (inMemory && !(await mounts.isMountPoint(dir))) {
      const limit = tryParseQuantity(source.sizeLimit);
      const sizeBytes = limit && quantityValue(limit) > 0 ? quantityValue(limit) : undefined;
      await mounts.tmpfs(dir, { sizeBytes, mode: 0o777 });
    }
    const group = fsGroupOf(context);
    if (group !== undefined && isNew) {
      await files.changeOwner(dir, -1, group);
      await files.changeMode(dir, 0o2777);
    }
    return ownFolder(dir);
  },
};
