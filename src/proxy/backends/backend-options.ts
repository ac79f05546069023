// What a node has for a data plane.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { KeptTables } from '../../os/kept-tables.ts';
import type { PacketFilter } from '../../os/packet-filter.ts';
import type { InSteps } from '../proxy-backend.ts';

export interface BackendOptions {
  readonly packetFilter: PacketFilter;
  readonly tables: KeptTables;
  /** Traffic from here to a ClusterIP keeps its source address. */
  readonly clusterCIDR: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: by the clock. */
  readonly inSteps?: InSteps;
}
