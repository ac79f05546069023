// All kinds of volumes that this node serves, sorted.
import type { VolumePlugin } from '../volume-plugin.ts';
import { configMap } from './config-map.ts';
import { downwardApi } from './downward-api.ts';
import { emptyDir } from './empty-dir.ts';
import { hostPath } from './host-path.ts';
import { persistentVolumeClaim } from './persistent-volume-claim.ts';
import { projected } from './projected.ts';
import { secret } from './secret.ts';

export const volumePlugins: readonly VolumePlugin[] = [
  configMap,
  downwardApi,
  emptyDir,
  hostPath,
  persistentVolumeClaim,
  projected,
  secret,
];
