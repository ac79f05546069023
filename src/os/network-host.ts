// The network side of a machine, or of one network namespace of it, as one port.
import type { Links } from './links.ts';
import type { NetworkNamespaces } from './netns.ts';
import type { PacketFilter } from './packet-filter.ts';
import type { Sysctl } from './sysctl.ts';

export interface NamespaceNetwork {
  readonly links: Links;
  readonly sysctl: Sysctl;
}

export interface NetworkHost extends NamespaceNetwork {
  /** Close it at the end. */
  readonly packetFilter: PacketFilter;
  readonly namespaces: NetworkNamespaces;
  /** Another namespace, by its path. */
  inside(path: string): NamespaceNetwork;
}
