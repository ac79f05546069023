// The addresses of a name, as the machine's own resolver says.
import { lookup } from 'node:dns/promises';

/** Throws when there is none, or nobody to ask. */
export async function resolveIpv4(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, family: 4 });
  return found.map(({ address }) => address);
}
