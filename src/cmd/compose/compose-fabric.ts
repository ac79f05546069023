// The fabric's ports on a Linux machine.
import type { FabricPorts } from '../../network/fabric.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { ownNetworkHost } from '../../os/linux/network-host-linux.ts';

/** Close its `packetFilter` at the end. */
export const linuxFabricPorts = (): FabricPorts => ({ ...ownNetworkHost(), files: linuxFiles });
