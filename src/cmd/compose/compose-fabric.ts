// The fabric's ports on a Linux machine.
import type { FabricPorts } from '../../network/fabric.ts';
import type { Files } from '../../os/files.ts';
import { linuxNetworkHost } from '../../os/linux/network-host-linux.ts';
import type { Processes } from '../../os/processes.ts';

/** Close its `packetFilter` at the end. */
export const linuxFabricPorts = (processes: Processes, files: Files): FabricPorts => ({
  ...linuxNetworkHost(processes),
  files,
});
