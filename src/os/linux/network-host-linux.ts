// NetworkHost by iproute2, nft and the kernel's settings, of the namespace that the given processes run in.
import type { NetworkHost } from '../network-host.ts';
import type { Processes } from '../processes.ts';
import { linuxLinks } from './ip-links.ts';
import { linuxNetworkNamespaces, processesInNetns } from './netns-linux.ts';
import { linuxPacketFilter } from './nft-packet-filter.ts';
import { linuxProcesses } from './processes-linux.ts';
import { linuxSysctl, ownSysctl } from './sysctl-linux.ts';

export function linuxNetworkHost(processes: Processes): NetworkHost {
  return {
    links: linuxLinks(processes),
    sysctl: linuxSysctl(processes),
    packetFilter: linuxPacketFilter(processes),
    namespaces: linuxNetworkNamespaces(processes),
    inside: (path) => {
      const own = processesInNetns(processes, path);
      return { links: linuxLinks(own), sysctl: linuxSysctl(own) };
    },
  };
}

/** Of the namespace that this process is in. */
export const ownNetworkHost = (): NetworkHost => ({
  ...linuxNetworkHost(linuxProcesses),
  sysctl: ownSysctl,
});
