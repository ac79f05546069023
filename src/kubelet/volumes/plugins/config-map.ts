// configMap: its keys as files, renewed when it changes.
import { podNamespace } from '../../pod-format.ts';
import { writeKeys } from '../keyed-volume.ts';
import { configMapData } from '../object-data.ts';
import type { VolumePlugin } from '../volume-plugin.ts';

export const configMap: VolumePlugin = {
  name: 'kubernetes.io/configmap',
  supports: (volume) => volume.configMap !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const { name = '', items, defaultMode, optional = false } = context.volume.configMap!;
    const object = await context.objects.configMap(podNamespace(context.pod), name);
    const data = object && configMapData(object);
    return writeKeys(context, { what: `configmap "${name}"`, data, items, defaultMode, optional });
  },
};
