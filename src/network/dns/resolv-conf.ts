// Reads nameservers from the text of a resolv.conf: pure.
import { parseIp } from '../../base/ip.ts';
import type { DnsServerAddress } from '../../wire/dns-sockets.ts';

/** At most three, as resolvers use; `own` addresses are left out, so that no question comes back. */
export function upstreamsOf(resolvConf: string, own: readonly string[]): DnsServerAddress[] {
  return resolvConf
    .split('\n')
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1])
    .filter((address) => address !== undefined)
    .filter((address) => parseIp(address) !== undefined)
    .filter((address) => !own.includes(address))
    .slice(0, 3)
    .map((address) => ({ address, port: 53 }));
}
