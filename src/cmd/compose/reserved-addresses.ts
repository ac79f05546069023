// The addresses by which a node itself works: the API server's and the resolvers'. No Service of a user may have them.
import { isIP } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { formatIpv4, parseIpv4 } from '../../base/ipv4.ts';
import { within } from '../../base/within.ts';
import type { Logger } from '../../component-base/logger.ts';

export interface ReservedAddressesOptions {
  /** As the URL of the API server has it: an address, also of IPv6 in brackets, or a name. */
  readonly apiServer: string;
  readonly resolvers: readonly string[];
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ReservedAddresses {
  /** Prefixes. */
  readonly cidrs: readonly string[];
  /** What a name means may change; told with all prefixes. Returns the function that ends it. */
  follow(changed: (cidrs: readonly string[]) => void): () => void;
}

/** The node starts also while nobody resolves names. */
const firstWithinMs = 5_000;
const againMs = 60_000;

/** `::ffff:192.0.2.1`, which a URL writes as `::ffff:c000:201`, is reached by IPv4. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i;

/** Undefined for an address of IPv6: no Service is served by one on a node. */
function ipv4Of(address: string): string | undefined {
  if (parseIpv4(address) !== undefined) return address;
  if (isIP(address) !== 6) return undefined;
  const [, high, low] = mapped.exec(new URL(`http://[${address}]`).hostname.slice(1, -1)) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return formatIpv4(Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16));
}

const cidrsOf = (addresses: readonly string[]): string[] =>
  [...new Set(addresses.flatMap((address) => ipv4Of(address) ?? []))]
    .sort()
    .map((address) => `${address}/32`);

/** Waits a little for what a name means. */
export async function reservedAddresses(options: ReservedAddressesOptions): Promise<ReservedAddresses> {
  const { resolve, clock, log, resolvers } = options;
  const apiServer = options.apiServer.replace(/^\[(.*)\]$/, '$1');
  if (isIP(apiServer) !== 0)
    return { cidrs: cidrsOf([apiServer, ...resolvers]), follow: () => () => undefined };
  let known: readonly string[] = [];

  /** Who can't be asked has said nothing new. */
  async function ask(): Promise<readonly string[]> {
    try {
      known = await within(clock, firstWithinMs, resolve(apiServer));
    } catch (error) {
      log.warn({ error, apiServer }, 'the name of the API server was not resolved');
    }
    return cidrsOf([...known, ...resolvers]);
  }

  const cidrs = await ask();
  return {
    cidrs,
    follow: (changed) => {
      let told = cidrs.join();
      let cancel: () => void;
      let ended = false;
      const later = (): void => {
        cancel = clock.timer(againMs, async () => {
          const now = await ask();
          if (ended) return;
          if (now.join() !== told) changed(now);
          told = now.join();
          later();
        });
      };
      later();
      return () => {
        ended = true;
        cancel();
      };
    },
  };
}
