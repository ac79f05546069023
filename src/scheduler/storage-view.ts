// What the scheduler knows of claims, volumes and storage classes, from the shared informers.
import {
  csinodes,
  persistentvolumeclaims,
  persistentvolumes,
  storageclasses,
  volumeattachments,
} from '../api/generated/resources.ts';
import type { Clock } from '../base/clock.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import type { Change, StorageEvent } from './framework/plugin.ts';
import type { StorageView } from './framework/storage.ts';

type Watched =
  | 'PersistentVolumeClaim'
  | 'PersistentVolume'
  | 'storage.k8s.io/StorageClass'
  | 'storage.k8s.io/CSINode';

/** VolumeAttachments by the node that they are for. */
const byNode = 'scheduler/node';

export interface WatchedStorage extends StorageView {
  /** After each change of any of them from now on. That one goes helps no pod. */
  onChange(listener: (event: StorageEvent, change: Change) => void): void;
  stop(): void;
}

export function watchStorage(informers: InformerFactory, clock: Clock): WatchedStorage {
  const claims = informers.informer(persistentvolumeclaims);
  const volumes = informers.informer(persistentvolumes);
  const classes = informers.informer(storageclasses);
  const csiNodes = informers.informer(csinodes);
  const attachments = informers.informer(volumeattachments);
  attachments.addIndex(byNode, ({ spec }) => [spec.nodeName]);
  const waiting = new Set<() => void>();
  let changed = (_event: StorageEvent, _change: Change): void => {};
  const checkAll = (): void => {
    for (const check of [...waiting]) check();
  };
  const telling = <T extends object>(
    resource: Watched,
    changeOf: (old: T | undefined, now: T) => Change,
  ) => ({
    added(now: T): void {
      checkAll();
      changed(`${resource}Add`, changeOf(undefined, now));
    },
    updated(old: T, now: T): void {
      checkAll();
      changed(`${resource}Update`, changeOf(old, now));
    },
    deleted: checkAll,
  });
  const removes = [
    claims.addHandler(telling('PersistentVolumeClaim', (_old, claim) => ({ claim }))),
    volumes.addHandler(telling('PersistentVolume', (oldVolume, volume) => ({ oldVolume, volume }))),
    classes.addHandler(telling('storage.k8s.io/StorageClass', (_old, storageClass) => ({ storageClass }))),
    csiNodes.addHandler(
      telling('storage.k8s.io/CSINode', (oldCsiNode, csiNode) => ({ oldCsiNode, csiNode })),
    ),
    attachments.addHandler({
      deleted: (attachment) => changed('storage.k8s.io/VolumeAttachmentDelete', { attachment }),
    }),
  ];
  let stopped = false;
  return {
    onChange: (listener) => {
      changed = listener;
    },
    claim: (name, namespace) => claims.lister.get(name, namespace),
    volume: (name) => volumes.lister.get(name),
    volumes: () => volumes.lister.list(),
    storageClass: (name) => classes.lister.get(name),
    csiNode: (name) => csiNodes.lister.get(name),
    attachments: (node) => attachments.lister.byIndex(byNode, node),
    until: (isDone, mostMs) =>
      new Promise((resolve) => {
        const end = (result: boolean): void => {
          waiting.delete(check);
          cancel();
          resolve(result);
        };
        const check = (): void => {
          if (isDone()) end(true);
          else if (stopped) end(false);
        };
        const cancel = clock.timer(mostMs, () => end(false));
        waiting.add(check);
        check();
      }),
    stop() {
      stopped = true;
      for (const remove of removes) remove();
      checkAll();
    },
  };
}
