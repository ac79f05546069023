// What the scheduler knows of devices, and which of them it has given away before the API server says so.
import { deviceclasses, resourceclaims, resourceslices } from '../api/generated/resources.ts';
import type { AllocationResult, ResourceClaim } from '../api/generated/types/resource-v1.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import { type DevicePools, deviceId, devicePools } from './framework/devices/device-pools.ts';
import type { Change, ClusterEvent } from './framework/plugin.ts';
import type { DevicesView } from './plugins/dynamic-resources.ts';

export interface WatchedDevices extends DevicesView {
  onChange(listener: (event: ClusterEvent, change: Change) => void): void;
  stop(): void;
}

/** Of all but those that are looked at by administrators: others may have the same. */
const idsOf = (allocation: AllocationResult | undefined): string[] =>
  (allocation?.devices?.results ?? [])
    .filter(({ adminAccess }) => adminAccess !== true)
    .map(({ device, driver, pool }) => deviceId(driver, pool, device));

export function watchDevices(informers: InformerFactory): WatchedDevices {
  const claims = informers.informer(resourceclaims);
  const classes = informers.informer(deviceclasses);
  const slices = informers.informer(resourceslices);
  let changed = (_event: ClusterEvent, _change: Change): void => {};
  /** By uid of the claim, until the claim itself says so. */
  const pending = new Map<string, AllocationResult>();
  const saw = ({ metadata: { uid = '' }, status }: ResourceClaim): void => {
    if (status?.allocation !== undefined) pending.delete(uid);
  };
  /** Of all slices as they are now, made when somebody asks. */
  let pools: DevicePools | undefined;
  const published = (event: ClusterEvent): void => {
    pools = undefined;
    changed(event, {});
  };
  const removes = [
    claims.addHandler({
      added(resourceClaim) {
        saw(resourceClaim);
        changed('ResourceClaimAdd', { resourceClaim });
      },
      updated(oldResourceClaim, resourceClaim) {
        saw(resourceClaim);
        changed('ResourceClaimUpdate', { oldResourceClaim, resourceClaim });
      },
      deleted(oldResourceClaim) {
        pending.delete(oldResourceClaim.metadata.uid ?? '');
        // What it had is free, which upstream learns of by the claim's losing it before.
        changed('ResourceClaimUpdate', { oldResourceClaim });
      },
    }),
    classes.addHandler({
      added: () => changed('DeviceClassAdd', {}),
      updated: () => changed('DeviceClassUpdate', {}),
    }),
    slices.addHandler({
      added: () => published('ResourceSliceAdd'),
      updated: () => published('ResourceSliceUpdate'),
      deleted: () => {
        pools = undefined;
      },
    }),
  ];
  return {
    claim: (name, namespace) => claims.lister.get(name, namespace),
    deviceClass: (name) => classes.lister.get(name),
    pools: () => {
      pools ??= devicePools(slices.lister.list());
      return pools;
    },
    allocated: () => {
      const ids = new Set<string>();
      for (const { status } of claims.lister.list()) for (const id of idsOf(status?.allocation)) ids.add(id);
      for (const allocation of pending.values()) for (const id of idsOf(allocation)) ids.add(id);
      return ids;
    },
    isPending: (uid) => pending.has(uid),
    assume: (uid, allocation) => void pending.set(uid, allocation),
    forget: (uid) => void pending.delete(uid),
    onChange: (listener) => {
      changed = listener;
    },
    stop() {
      for (const remove of removes) remove();
    },
  };
}
