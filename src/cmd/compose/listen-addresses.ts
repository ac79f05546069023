// Where the API server listens, and which of its addresses stand in its certificate.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { parseIpv4 } from '../../base/ipv4.ts';

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
  const advertise = options.advertiseAddress ?? (isEverywhere ? loopback : (bindAddress ?? loopback));
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

const isLoopback = (address: string): boolean => (parseIpv4(address) ?? 0) >>> 24 === 127;

/** Loopback and IPv6 ones as well. */
export const everyMachineAddress = (): string[] =>
  Object.values(networkInterfaces()).flatMap((one) => (one ?? []).map(({ address }) => address));

/** Throws Error that says which are possible. Before anything is made: a server with a wrong one would never start. */
export function checkBindAddress(address: string, machine: readonly string[]): void {
  const choice = `this machine has ${machine.filter((one) => !/^fe80:/i.test(one)).join(', ')}, and 0.0.0.0 is all of them`;
  if (isIP(address) === 0)
    throw new Error(`--bind-address ${JSON.stringify(address)} is no IP address; ${choice}`);
  if (everywhere.includes(address) || isLoopback(address) || machine.includes(address)) return;
  throw new Error(`--bind-address ${address} is no address of this machine; ${choice}`);
}
