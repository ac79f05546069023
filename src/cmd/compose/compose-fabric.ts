// The fabric's ports on a Linux machine.
export { linuxFabricPorts } from '../../network/fabric-ports.ts';
