// What the scheduler knows of claims, volumes and storage classes, from the shared informers.
import { persistentvolumeclaims, persistentvolumes, storageclasses } from '../api/generated/resources.ts';
import type { Clock } from '../base/clock.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import type { StorageEvent } from './framework/plugin.ts';
import type { StorageView } from './plugins/volume-binding.ts';

/** Upstream's bindTimeoutSeconds. */
const bindTimeoutMs = 600_000;

type Watched = 'PersistentVolumeClaim' | 'PersistentVolume' | 'storage.k8s.io/StorageClass';

export interface WatchedStorage extends StorageView {
  /** After each change of any of them from now on. That one goes helps no pod. */
  onChange(listener: (event: StorageEvent) => void): void;
  stop(): void;
}

export function watchStorage(informers: InformerFactory, clock: Clock): WatchedStorage {
  const claims = informers.informer(persistentvolumeclaims);
  const volumes = informers.informer(persistentvolumes);
  const classes = informers.informer(storageclasses);
  const waiting = new Set<() => void>();
  let changed = (_event: StorageEvent): void => {};
  const checkAll = (): void => {
    for (const check of [...waiting]) check();
  };
  const telling = (resource: Watched) => {
    const tell = (event: StorageEvent): void => {
      checkAll();
      changed(event);
    };
    return {
      added: () => tell(`${resource}Add`),
      updated: () => tell(`${resource}Update`),
      deleted: checkAll,
    };
  };
  const removes = [
    claims.addHandler(telling('PersistentVolumeClaim')),
    volumes.addHandler(telling('PersistentVolume')),
    classes.addHandler(telling('storage.k8s.io/StorageClass')),
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
    until: (isDone) =>
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
        const cancel = clock.timer(bindTimeoutMs, () => end(false));
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
