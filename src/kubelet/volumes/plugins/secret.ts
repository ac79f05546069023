// secret: its keys as files, in memory where the system can, renewed when it changes.
import { podNamespace } from '../../pod-format.ts';
import { writeAtomically } from '../atomic-writer.ts';
import { filesOfKeys } from '../key-to-path.ts';
import { secretData } from '../object-data.ts';
import { fsGroupOf, type VolumePlugin, withGroupRead } from '../volume-plugin.ts';

export const secret: VolumePlugin = {
  name: 'kubernetes.io/secret',
  supports: (volume) => volume.secret !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const source = context.volume.secret!;
    const name = source.secretName ?? '';
    const object = await context.objects.secret(podNamespace(context.pod), name);
    const optional = source.optional === true;
    if (!object && !optional) throw new Error(`secret "${name}" not found`);
    const group = fsGroupOf(context);
    const payload = filesOfKeys({
      data: object ? secretData(object) : new Map(),
      items: object ? source.items : undefined,
      defaultMode: source.defaultMode ?? 0o644,
      optional,
      windows: context.nodeOs.name === 'windows',
      mode: (mode) => (context.nodeOs.hasFileModes ? withGroupRead(mode, group) : 0o644),
    });
    await context.files.makeDirectory(context.dir, 0o755);
    if (context.nodeOs.hasMemoryVolumes && !(await context.mounts.isMountPoint(context.dir))) {
      await context.mounts.tmpfs(context.dir);
    }
    await writeAtomically(context, context.dir, payload, group);
    return context.dir;
  },
};
