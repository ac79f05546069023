// Where the API server listens, and which of its addresses stand in its certificate.

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
