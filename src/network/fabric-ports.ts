// The ports of the fabric on a Linux machine.
import type { Files } from '../os/files.ts';
import { linuxLinks } from '../os/linux/ip-links.ts';
import { linuxNetworkNamespaces, processesInNetns } from '../os/linux/netns-linux.ts';
import { linuxPacketFilter } from '../os/linux/nft-packet-filter.ts';
import { linuxSysctl } from '../os/linux/sysctl-linux.ts';
import type { Processes } from '../os/processes.ts';
import type { FabricPorts } from './fabric.ts';

/** Close its `packetFilter` at the end. */
export function linuxFabricPorts(processes: Processes, files: Files): FabricPorts {
  return {
    links: linuxLinks(processes),
    sysctl: linuxSysctl(processes),
    packetFilter: linuxPacketFilter(processes),
    namespaces: linuxNetworkNamespaces(processes),
    files,
    inside: (path) => {
      const own = processesInNetns(processes, path);
      return { links: linuxLinks(own), sysctl: linuxSysctl(own) };
    },
  };
}
