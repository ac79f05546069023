// Puts the pods' shares of tracked connections into a node's packet filter, and keeps them there.
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { PacketFilterError } from '../os/packet-filter.ts';
import { flowSharesTable, renderFlowShares, tableSizeKey } from './flow-shares.ts';

export interface KeepFlowSharesOptions {
  readonly clusterCIDR: string;
  readonly host: Pick<NetworkHost, 'packetFilter' | 'sysctl'>;
  readonly tables: KeptTables;
  readonly log: Logger;
}

/** The result ends it; the table stays. A kernel that can't count connections runs pods all the same. */
export async function keepFlowShares({
  clusterCIDR,
  host,
  tables,
  log,
}: KeepFlowSharesOptions): Promise<() => void> {
  const tableSize = Number(await host.sysctl.get(tableSizeKey)) || undefined;
  const write = (): Promise<void> => host.packetFilter.apply(renderFlowShares(clusterCIDR, tableSize));
  try {
    await write();
  } catch (error) {
    if (!(error instanceof PacketFilterError)) throw error;
    log.warn(
      { error },
      "this kernel can't count a pod's connections: nothing keeps a pod from filling the node's table of connections",
    );
    return () => undefined;
  }
  return tables.keep({ written: () => [flowSharesTable], writeAnew: write });
}
