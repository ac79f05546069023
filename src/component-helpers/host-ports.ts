// Host ports that a pod takes on its node.
import type { Pod } from '../api/generated/types/core-v1.ts';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const everywhere = new Set(['', '0.0.0.0', '::']);

export function hostPortsOf(pod: Pod): HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    (container) => container.restartPolicy === 'Always',
  );
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? [])
      .filter((port) => (port.hostPort ?? 0) > 0)
      .map((port) => ({ ip: port.hostIP ?? '', protocol: port.protocol ?? 'TCP', port: port.hostPort! })),
  );
}

/** Host ports that pods of a node have. Looked up, not compared one by one: pods may ask for thousands, and have as many. */
export class UsedHostPorts {
  /** By protocol and number: addresses, and how many have each; '' is every address. */
  readonly #used = new Map<string, Map<string, number>>();

  add(ports: readonly HostPort[]): void {
    this.#count(ports, 1);
  }

  remove(ports: readonly HostPort[]): void {
    this.#count(ports, -1);
  }

  has(port: HostPort): boolean {
    const addresses = this.#used.get(keyOf(port));
    if (addresses === undefined) return false;
    const address = addressOf(port);
    return address === '' || addresses.has('') || addresses.has(address);
  }

  #count(ports: readonly HostPort[], change: 1 | -1): void {
    for (const port of ports) {
      const key = keyOf(port);
      const addresses = this.#used.get(key) ?? new Map<string, number>();
      const count = (addresses.get(addressOf(port)) ?? 0) + change;
      if (count > 0) addresses.set(addressOf(port), count);
      else addresses.delete(addressOf(port));
      if (addresses.size > 0) this.#used.set(key, addresses);
      else this.#used.delete(key);
    }
  }
}

const keyOf = ({ protocol, port }: HostPort): string => `${protocol} ${port}`;
const addressOf = ({ ip }: HostPort): string => (everywhere.has(ip) ? '' : ip);
