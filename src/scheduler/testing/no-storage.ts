// A cluster without claims, volumes and storage classes, for tests of everything else.
import type { StorageView } from '../framework/storage.ts';

export const noStorage: StorageView = {
  claim: () => undefined,
  volume: () => undefined,
  volumes: () => [],
  storageClass: () => undefined,
  csiNode: () => undefined,
  attachments: () => [],
  until: async () => true,
};
