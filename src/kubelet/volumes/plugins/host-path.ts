// hostPath: a file or folder of the node, checked for its type.
import { hostLocation } from '../host-location.ts';
import type { VolumePlugin } from '../volume-plugin.ts';

export const hostPath: VolumePlugin = {
  name: 'kubernetes.io/host-path',
  supports: (volume) => volume.hostPath !== undefined,
  refreshes: false,
  writable: true,
  setUp: async (context) => {
    const { path, type } = context.volume.hostPath!;
    if (path.includes('\0') || path.split(/[\\/]/).includes('..')) {
      throw new Error(`hostPath ${JSON.stringify(path)} must not contain '..' or NUL`);
    }
    return hostLocation(context, path, { type: type ?? '', mode: 0o755 });
  },
};
