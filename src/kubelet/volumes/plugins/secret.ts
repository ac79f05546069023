// secret: its keys as files, in memory where the system can, renewed when it changes.
import { podNamespace } from '../../pod-format.ts';
import { writeKeys } from '../keyed-volume.ts';
import { secretData } from '../object-data.ts';
import type { VolumePlugin } from '../volume-plugin.ts';

export const secret: VolumePlugin = {
  name: 'kubernetes.io/secret',
  supports: (volume) => volume.secret !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const { secretName = '', items, defaultMode, optional = false } = context.volume.secret!;
    const object = await context.objects.secret(podNamespace(context.pod), secretName);
    const data = object && secretData(object);
    return writeKeys(
      context,
      { what: `secret "${secretName}"`, data, items, defaultMode, optional },
      async () => {
        await context.files.makeDirectory(context.dir, 0o755);
        if (context.nodeOs.hasMemoryVolumes && !(await context.mounts.hasOwnFileSystem(context.dir)))
          await context.mounts.tmpfs(context.dir);
      },
    );
  },
};
