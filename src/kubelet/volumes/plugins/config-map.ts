// configMap: its keys as files, renewed when it changes.
import { podNamespace } from '../../pod-format.ts';
import { writeAtomically } from '../atomic-writer.ts';
import { filesOfKeys } from '../key-to-path.ts';
import { configMapData } from '../object-data.ts';
import { fsGroupOf, type VolumePlugin, withGroupRead } from '../volume-plugin.ts';

export const configMap: VolumePlugin = {
  name: 'kubernetes.io/configmap',
  supports: (volume) => volume.configMap !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const source = context.volume.configMap!;
    const name = source.name ?? '';
    const object = await context.objects.configMap(podNamespace(context.pod), name);
    const optional = source.optional === true;
    if (!object && !optional) throw new Error(`configmap "${name}" not found`);
    const group = fsGroupOf(context);
    const payload = filesOfKeys({
      data: object ? configMapData(object) : new Map(),
      items: object ? source.items : undefined,
      defaultMode: source.defaultMode ?? 0o644,
      optional,
      windows: context.nodeOs.name === 'windows',
      mode: (mode) => (context.nodeOs.hasFileModes ? withGroupRead(mode, group) : 0o644),
    });
    await writeAtomically(context, context.dir, payload, group);
    return context.dir;
  },
};
