// Hands out the addresses of this node's pod CIDR: in turn, so that one just freed is not taken again at once.
import { formatIpv4, type Ipv4Cidr, ipv4CidrContains, parseIpv4, sizeOfIpv4Cidr } from '../../base/ipv4.ts';

export interface HostLocalIpam {
  /** Undefined when every address is taken. */
  allocate(): string | undefined;
  /** False when it is taken already. */
  claim(address: string): boolean;
  release(address: string): void;
  /** Addresses of another CIDR stay taken until they are released. */
  use(cidr: Ipv4Cidr): void;
}

/** `reserved` counts the first addresses that pods never get: network, gateway and so on. */
export function createHostLocalIpam(options: { readonly reserved: number }): HostLocalIpam {
  const taken = new Set<number>();
  let cidr: Ipv4Cidr | undefined;
  let next = 0;

  function allocate(): string | undefined {
    if (cidr === undefined) return undefined;
    const last = sizeOfIpv4Cidr(cidr) - 1; // broadcast
    for (let tried = options.reserved; tried < last; tried++) {
      if (next < options.reserved || next >= last) next = options.reserved;
      const address = cidr.base + next++;
      if (taken.has(address)) continue;
      taken.add(address);
      return formatIpv4(address);
    }
    return undefined;
  }
  return {
    allocate,
    claim: (address) => {
      const value = parseIpv4(address);
      if (value === undefined || taken.has(value)) return false;
      taken.add(value);
      if (cidr !== undefined && ipv4CidrContains(cidr, value)) next = Math.max(next, value - cidr.base + 1);
      return true;
    },
    release: (address) => {
      const value = parseIpv4(address);
      if (value !== undefined) taken.delete(value);
    },
    use: (chosen) => {
      cidr = chosen;
      // go on after the highest address in use: a restart does not reuse the last ones either
      next = options.reserved;
      for (const value of taken)
        if (ipv4CidrContains(cidr, value)) next = Math.max(next, value - cidr.base + 1);
    },
  };
}
