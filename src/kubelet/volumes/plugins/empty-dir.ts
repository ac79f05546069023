// emptyDir: a folder of the pod's own, on disk or in memory.
import type { Pod } from '../../../api/generated/types/core-v1.ts';
import { quantityValue, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { fsGroupOf, ownFolder, type VolumePlugin } from '../volume-plugin.ts';

const asksForHugePages = ({ spec }: Pod): boolean =>
  [...(spec.initContainers ?? []), ...spec.containers].some(({ resources }) =>
    Object.keys(resources?.requests ?? {}).some((name) => name.startsWith('hugepages-')),
  );

/** What is neither on disk nor in memory would be a folder that no limit counts. Upstream's words where it has some. */
function checkMedium(medium: string, pod: Pod): void {
  if (medium === '' || medium === 'Memory') return;
  if (medium !== 'HugePages' && !medium.startsWith('HugePages-'))
    throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
  if (!asksForHugePages(pod))
    throw new Error('hugePages storage requested, but there is no resource request for huge pages');
  throw new Error('hugePages storage requested, but this node has no huge pages for pods');
}

export const emptyDir: VolumePlugin = {
  name: 'kubernetes.io/empty-dir',
  supports: (volume) => volume.emptyDir !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { files, mounts, dir } = context;
    const source = context.volume.emptyDir!;
    checkMedium(source.medium ?? '', context.pod);
    const isNew = (await files.stat(dir)) === undefined;
    await files.makeDirectory(dir, 0o777);
    const inMemory = source.medium === 'Memory' && context.nodeOs.hasMemoryVolumes;
    if (inMemory && !(await mounts.hasOwnFileSystem(dir))) {
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
