// How much the objects of a server may take together, who may take a little more, and where it is told.
import type { HealthCheck } from '../../apiserver/healthz.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { Key, Storage } from '../../storage/storage.ts';

/** Half of etcd's 2 GiB: these are held in memory, each once. */
export const defaultQuotaBytes: number = 1 << 30;

/** No tenant writes these: without them nodes are lost, and nobody leads. */
const systemKeys =
  /^\/registry\/(core\/nodes\/|coordination\.k8s\.io\/leases\/(kube-node-lease|kube-system)\/|(core|events\.k8s\.io)\/events\/kube-system\/)/;
const isSystemKey = (key: Key): boolean => systemKeys.test(key);

export const quotaHealth = (storage: Storage): HealthCheck => ({
  name: 'etcd-quota',
  paths: ['readyz', 'healthz'],
  check: () => storage.space?.check(),
});

export function limitStore(storage: Storage, bytes: number, log: Logger): void {
  storage.space?.limit({
    bytes,
    isSystem: isSystemKey,
    onFull: (full) => {
      if (full)
        log.error(
          { bytes, used: storage.space?.used },
          'the store is full: delete objects, or raise --quota-backend-bytes',
        );
      else log.info({ bytes, used: storage.space?.used }, 'the store has room again');
    },
  });
}

export function showStoreSize(storage: Storage, metrics: MetricsRegistry): void {
  metrics.readGauge(
    'apiserver_storage_size_bytes',
    'Size of the storage database file physically allocated in bytes.',
    ['storage_cluster_id'],
    () => [[{ storage_cluster_id: 'etcd-0' }, storage.space?.used ?? 0]],
  );
}
