// The addresses by which a node itself works: the API server's and the resolvers'. No Service of a user may have them.
import type { Clock } from '../../base/clock.ts';
import { cidrOf, formatCidr, parseIp, unmapped } from '../../base/ip.ts';
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
const cidrsOf = (addresses: readonly string[]): string[] =>
  [
    ...new Set(
      addresses.flatMap((address) => parseIp(address) ?? []).map((ip) => formatCidr(cidrOf(unmapped(ip)))),
    ),
  ].sort();

/** Waits a little for what a name means. */
export async function reservedAddresses(options: ReservedAddressesOptions): Promise<ReservedAddresses> {
  const { resolve, clock, log, resolvers } = options;
  const apiServer = options.apiServer.replace(/^\[(.*)\]$/, '$1');
  if (parseIp(apiServer) !== undefined)
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
