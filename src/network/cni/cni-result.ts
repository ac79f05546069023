// The result of ADD in the shape of each version of the specification.
import type { CniVersion } from './cni-request.ts';

export interface CniInterface {
  readonly name: string;
  readonly mac: string;
  readonly sandbox?: string;
}

export interface CniResult {
  readonly interfaces: readonly CniInterface[];
  /** With prefix length; of the interface at `index`. */
  readonly ips: readonly { readonly address: string; readonly gateway?: string; readonly index: number }[];
  readonly routes: readonly { readonly dst: string; readonly gw?: string }[];
}

const isOld = (version: CniVersion): boolean => version === '0.1.0' || version === '0.2.0';

export function cniResultJson(result: CniResult, version: CniVersion): string {
  const { routes } = result;
  if (isOld(version)) {
    const [first] = result.ips;
    const ip4 =
      first === undefined ? {} : { ip4: { ip: first.address, gateway: first.gateway, routes: [...routes] } };
    return JSON.stringify({ cniVersion: version, ...ip4, dns: {} });
  }
  const withVersion = version.startsWith('0.');
  return JSON.stringify({
    cniVersion: version,
    interfaces: result.interfaces,
    ips: result.ips.map((ip) => ({
      ...(withVersion ? { version: '4' } : {}),
      interface: ip.index,
      address: ip.address,
      gateway: ip.gateway,
    })),
    routes,
    dns: {},
  });
}
