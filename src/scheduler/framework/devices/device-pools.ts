// Which devices a node may use: those of the newest whole state that drivers have published of their pools.
import type { Node } from '../../../api/generated/types/core-v1.ts';
import type { Device, ResourceSlice } from '../../../api/generated/types/resource-v1.ts';
import { matchesNodeSelector } from '../../../component-helpers/node-affinity.ts';

export interface PooledDevice {
  /** `driver/pool/device`. */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  /** For those of one node the node alone can use them; undefined: every node. */
  readonly slice: ResourceSlice;
}

export interface Pool {
  readonly id: string;
  readonly devices: readonly PooledDevice[];
  readonly slices: readonly ResourceSlice[];
  /** Slices of it are missing, or say a name twice: what is there may be out of date. */
  readonly isWhole: boolean;
}

export const deviceId = (driver: string, pool: string, device: string): string =>
  `${driver}/${pool}/${device}`;

type Place = Pick<Device, 'allNodes' | 'nodeName' | 'nodeSelector'>;

const isAt = ({ allNodes, nodeName, nodeSelector }: Place, node: Node): boolean =>
  allNodes === true ||
  (nodeName !== undefined && nodeName !== '' && nodeName === node.metadata.name) ||
  (nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node));

/** Where a device can be used: it says so itself, or its slice does for all. */
export const placeOf = ({ device, slice: { spec } }: PooledDevice): Place =>
  spec.perDeviceNodeSelection === true ? device : spec;

/** The slices of each pool's newest generation. */
function newestSlices(slices: readonly ResourceSlice[]): Map<string, ResourceSlice[]> {
  const pools = new Map<string, ResourceSlice[]>();
  for (const slice of slices) {
    const { driver, pool } = slice.spec;
    const id = `${driver}/${pool.name}`;
    const known = pools.get(id)?.[0]?.spec.pool.generation ?? -1;
    const generation = Number(pool.generation);
    if (generation > Number(known)) pools.set(id, [slice]);
    else if (generation === Number(known)) pools.get(id)?.push(slice);
  }
  return pools;
}

/** All pools, found by the nodes that may use them. */
export interface DevicePools {
  readonly ofNode: ReadonlyMap<string, readonly Pool[]>;
  /** Pools that several nodes may use. */
  readonly shared: readonly Pool[];
}

export function devicePools(slices: readonly ResourceSlice[]): DevicePools {
  const ofNode = new Map<string, Pool[]>();
  const shared: Pool[] = [];
  for (const [id, ofPool] of newestSlices(slices)) {
    const devices = ofPool.flatMap((slice) =>
      (slice.spec.devices ?? []).map((device): PooledDevice => {
        const { driver, pool } = slice.spec;
        return { id: deviceId(driver, pool.name, device.name), driver, pool: pool.name, device, slice };
      }),
    );
    const expected = Number(ofPool[0]!.spec.pool.resourceSliceCount);
    const isWhole =
      ofPool.length === expected && new Set(devices.map((one) => one.id)).size === devices.length;
    const pool = { id, devices, slices: ofPool, isWhole };
    const nodes = new Set(ofPool.map(({ spec }) => spec.nodeName ?? ''));
    if (nodes.has('')) shared.push(pool);
    else for (const node of nodes) ofNode.set(node, [...(ofNode.get(node) ?? []), pool]);
  }
  return { ofNode, shared };
}

export function poolsFor({ ofNode, shared }: DevicePools, node: Node): Pool[] {
  const pools: Pool[] = [];
  for (const pool of [...(ofNode.get(node.metadata.name) ?? []), ...shared]) {
    const devices = pool.devices.filter((device) => isAt(placeOf(device), node));
    if (devices.length > 0) pools.push({ ...pool, devices });
  }
  return pools;
}
