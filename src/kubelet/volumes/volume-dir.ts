// Where a volume lies in its pod's folder.
import type { Volume } from '../../api/generated/types/core-v1.ts';
import { volumePlugins } from './plugins/registry.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export const pluginOf = (volume: Volume): VolumePlugin | undefined =>
  volumePlugins.find((plugin) => plugin.supports(volume));

export const volumeDir = (podDir: string, plugin: VolumePlugin, volume: Volume): string =>
  `${podDir}/volumes/${plugin.name.replace('/', '~')}/${volume.name}`;
