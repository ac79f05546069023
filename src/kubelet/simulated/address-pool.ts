// Hands out addresses of a pod CIDR to simulated pods.
import { formatIp, ipAt, parseCidr, sizeOfCidr } from '../../base/ip.ts';

export interface AddressPool {
  /** Throws when all are taken. */
  take(cidr: string): string;
  give(address: string): void;
}

/** The first address is the gateway's, as in real pod networks; a returned one is used again last. */
export function createAddressPool(): AddressPool {
  const taken = new Set<string>();
  let next = 2;
  return {
    take: (cidr) => {
      const parsed = parseCidr(cidr);
      if (!parsed) throw new Error(`${JSON.stringify(cidr)} is not a CIDR`);
      const first = 2;
      const usable = Number(sizeOfCidr(parsed)) - first - 1;
      for (let tried = 0; tried < usable; tried++) {
        const offset = first + ((next - first) % usable);
        next++;
        const address = formatIp(ipAt(parsed, offset)!);
        if (taken.has(address)) continue;
        taken.add(address);
        return address;
      }
      throw new Error(`no IP addresses available in range set: ${cidr}`);
    },
    give: (address) => void taken.delete(address),
  };
}
