// Hands out the addresses of this node's pod CIDR: in turn, so that one just freed is not taken again at once.
import { type Cidr, cidrContains, formatIp, type Ip, ipAt, parseIp, sizeOfCidr } from '../../base/ip.ts';

export interface HostLocalIpam {
  /** Undefined when every address is taken. */
  allocate(): string | undefined;
  /** False when it is taken already. */
  claim(address: string): boolean;
  release(address: string): void;
  /** Addresses of another CIDR stay taken until they are released. */
  use(cidr: Cidr): void;
}

/** `reserved` counts the first addresses that pods never get: network, gateway and so on. */
export function createHostLocalIpam(options: { readonly reserved: number }): HostLocalIpam {
  /** By their text. */
  const taken = new Map<string, Ip>();
  let cidr: Cidr | undefined;
  let next = 0;

  function allocate(): string | undefined {
    if (cidr === undefined) return undefined;
    const last = Number(sizeOfCidr(cidr)) - 1; // broadcast
    for (let tried = options.reserved; tried < last; tried++) {
      if (next < options.reserved || next >= last) next = options.reserved;
      const ip = ipAt(cidr, next++)!;
      const address = formatIp(ip);
      if (taken.has(address)) continue;
      taken.set(address, ip);
      return address;
    }
    return undefined;
  }
  function goOnAfter(ip: Ip): void {
    if (cidr !== undefined && cidrContains(cidr, ip))
      next = Math.max(next, Number(ip.value - cidr.first) + 1);
  }
  return {
    allocate,
    claim: (address) => {
      const ip = parseIp(address);
      if (ip === undefined || taken.has(formatIp(ip))) return false;
      taken.set(formatIp(ip), ip);
      goOnAfter(ip);
      return true;
    },
    release: (address) => void taken.delete(address),
    use: (chosen) => {
      cidr = chosen;
      // go on after the highest address in use: a restart does not reuse the last ones either
      next = options.reserved;
      for (const ip of taken.values()) goOnAfter(ip);
    },
  };
}
