// A cluster without claims, volumes and storage classes, for tests of everything else.
import type { StorageView } from '../plugins/volume-binding.ts';

export const noStorage: StorageView = {
  claim: () => undefined,
  volume: () => undefined,
  volumes: () => [],
  storageClass: () => undefined,
  until: async () => true,
};
