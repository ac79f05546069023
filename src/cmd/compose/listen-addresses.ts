// Where the API server listens, and which of its addresses stand in its certificate.
import { networkInterfaces } from 'node:os';
import { cidrContains, parseCidr, parseIp } from '../../base/ip.ts';

/** `--bind-address` for every address of the machine. */
const everywhere: readonly string[] = ['0.0.0.0', '::'];
const loopback = '127.0.0.1';

export interface ListenOptions {
  /** As asked for; undefined: nothing but what nodes and people on this machine need. */
  readonly bindAddress: string | undefined;
  /** Where nodes and pods reach the server. */
  readonly advertiseAddress: string | undefined;
  /** Of the machine's interfaces. */
  readonly machine: readonly string[];
}

export interface ListenAddresses {
  readonly listen: readonly string[];
  readonly advertise: string;
  /** For the certificate. */
  readonly addresses: readonly string[];
}

export function listenAddresses(options: ListenOptions): ListenAddresses {
  const { bindAddress, machine } = options;
  const isEverywhere = bindAddress !== undefined && everywhere.includes(bindAddress);
  // pods and nodes have IPv4 alone: an address of IPv6 is for people, and does not lead them to this server
  const reachable = parseIp(bindAddress ?? '')?.family === 4 && !isEverywhere ? bindAddress : undefined;
  const advertise = options.advertiseAddress ?? reachable ?? loopback;
  const named = [loopback, advertise, ...(bindAddress === undefined ? [] : [bindAddress])];
  return {
    advertise,
    listen: isEverywhere ? [bindAddress] : [...new Set(named)],
    addresses: [...new Set(isEverywhere ? [loopback, advertise, ...machine] : named)],
  };
}

/** Of the machine's interfaces, as they are now. */
export const machineAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((one) => one ?? [])
    .filter((one) => !one.internal && one.family === 'IPv4')
    .map((one) => one.address);

const loopbackRange = parseCidr('127.0.0.0/8')!;

/** Loopback and IPv6 ones as well. */
export const everyMachineAddress = (): string[] =>
  Object.values(networkInterfaces()).flatMap((one) => (one ?? []).map(({ address }) => address));

/** Throws Error that says which are possible. Before anything is made: a server with a wrong one would never start. */
export function checkBindAddress(address: string, machine: readonly string[]): void {
  const choice = `this machine has ${machine.filter((one) => !/^fe80:/i.test(one)).join(', ')}, and 0.0.0.0 is all of them`;
  const ip = parseIp(address);
  if (ip === undefined)
    throw new Error(`--bind-address ${JSON.stringify(address)} is no IP address; ${choice}`);
  if (everywhere.includes(address) || cidrContains(loopbackRange, ip) || machine.includes(address)) return;
  throw new Error(`--bind-address ${address} is no address of this machine; ${choice}`);
}

/** As upstream, which takes no other family than that of Services. */
export function checkAdvertiseAddress(address: string): void {
  const family = parseIp(address)?.family;
  if (family === undefined)
    throw new Error(`--advertise-address ${JSON.stringify(address)} is no IP address`);
  if (family === 6)
    throw new Error(
      `--advertise-address ${address} is of IPv6: nodes and pods of this cluster have IPv4 alone`,
    );
}
