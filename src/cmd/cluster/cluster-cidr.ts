// Pod addresses for a new cluster: the usual ones, unless this machine reaches something else there already.
import { cidrsOverlap, parseCidr } from '../../base/ip.ts';
import { freeSubnet } from '../../network/subnet.ts';
import { clusterCidr } from '../compose/cluster-addresses.ts';

/** Where later clusters of one machine take theirs. */
const pool = '10.128.0.0/9';
const prefixLength = 16;

/** `used`: addresses and routes of the machine, and the CIDRs of its other clusters. Throws when nothing is left. */
export function chooseClusterCidr(used: readonly string[]): string {
  const chosen = freeSubnet(clusterCidr, prefixLength, used) ?? freeSubnet(pool, prefixLength, used);
  if (chosen === undefined) throw new Error(`no free /${prefixLength} for pods is left in ${pool}`);
  return chosen;
}

export function overlaps(one: string, other: string): boolean {
  const [a, b] = [parseCidr(one), parseCidr(other)];
  return a !== undefined && b !== undefined && cidrsOverlap(a, b);
}
