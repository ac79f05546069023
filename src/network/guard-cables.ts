// Puts the guard of a fabric's cables into the packet filter, or says that this kernel has none.
import { type PacketFilter, PacketFilterError } from '../os/packet-filter.ts';
import { cableGuardProbe, renderCableGuard } from './cable-guard.ts';
import type { FabricPlan } from './fabric-plan.ts';

/** A sentence when the kernel can't; whatever else is in the way is thrown. */
export async function guardCables(packetFilter: PacketFilter, plan: FabricPlan): Promise<readonly string[]> {
  try {
    await packetFilter.apply(renderCableGuard(plan));
    return [];
  } catch (error) {
    if (!(error instanceof PacketFilterError)) throw error;
    const canGuard = await packetFilter.apply(cableGuardProbe(plan.clusterName)).then(
      () => true,
      () => false,
    );
    if (canGuard) throw error;
    return [
      "this kernel's packet filter can't judge what comes from a cable (nftables, family netdev): nothing keeps root on a node from taking another node's address on the cluster's network",
    ];
  }
}
