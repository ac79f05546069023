// downwardAPI: fields of the pod as files, renewed when they change.
import { writeAtomically } from '../atomic-writer.ts';
import { downwardFiles } from '../downward-files.ts';
import { fsGroupOf, ownFolder, type VolumePlugin } from '../volume-plugin.ts';

export const downwardApi: VolumePlugin = {
  name: 'kubernetes.io/downward-api',
  supports: (volume) => volume.downwardAPI !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const source = context.volume.downwardAPI!;
    const payload = downwardFiles(context, source.items ?? [], source.defaultMode ?? 0o644);
    await writeAtomically(context, context.dir, payload, fsGroupOf(context));
    return ownFolder(context.dir);
  },
};
