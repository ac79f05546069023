// Which address a Service of type LoadBalancer gets. Pure, but for what was given a moment ago and no informer shows yet.
import type { Service } from '../../api/generated/types/core-v1.ts';
import { type Cidr, cidrContains, formatIp, ipAt, parseCidr, parseIp, sizeOfCidr } from '../../base/ip.ts';

/** It is nobody else's to balance. */
export const isBalancedHere = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.loadBalancerClass === undefined;

export const ingressIPs = ({ status }: Service): string[] =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);

export type Choice = { readonly ip: string } | { readonly refusal: string };

export class AddressPool {
  readonly #cidr: Cidr;
  readonly #text: string;
  /** By key of a Service. */
  readonly #given = new Map<string, string>();

  /** Throws Error when it is no range of IPv4. */
  constructor(range: string) {
    const cidr = parseCidr(range);
    if (cidr?.family !== 4) throw new Error(`${JSON.stringify(range)} is no range of IPv4 addresses`);
    this.#cidr = cidr;
    this.#text = range;
  }

  has(address: string): boolean {
    const ip = parseIp(address);
    return ip !== undefined && cidrContains(this.#cidr, ip);
  }

  free(key: string): void {
    this.#given.delete(key);
  }

  /** `others`: who else has addresses; `nodes`: of this network, which no Service can have. */
  choose(key: string, service: Service, others: readonly Service[], nodes: ReadonlySet<string>): Choice {
    const taken = new Set([...nodes, ...others.flatMap(ingressIPs)]);
    for (const [owner, ip] of this.#given) if (owner !== key) taken.add(ip);
    const asked = service.spec.loadBalancerIP ?? '';
    if (asked !== '') return this.#asked(key, asked, taken);
    const kept = [...ingressIPs(service), this.#given.get(key) ?? ''].find(
      (ip) => this.has(ip) && !taken.has(ip),
    );
    const ip = kept ?? this.#last(taken);
    return ip === undefined
      ? { refusal: `all ${sizeOfCidr(this.#cidr)} addresses of ${this.#text} are taken` }
      : this.#give(key, ip);
  }

  #asked(key: string, ip: string, taken: ReadonlySet<string>): Choice {
    if (!this.has(ip)) return { refusal: `spec.loadBalancerIP ${ip} is not one of ${this.#text}` };
    return taken.has(ip) ? { refusal: `spec.loadBalancerIP ${ip} is taken` } : this.#give(key, ip);
  }

  #give(key: string, ip: string): Choice {
    this.#given.set(key, ip);
    return { ip };
  }

  /** Nodes take theirs from the other end. The last one of all is the subnet's broadcast address. */
  #last(taken: ReadonlySet<string>): string | undefined {
    for (let at = sizeOfCidr(this.#cidr) - 2n; at > 0n; at--) {
      const ip = formatIp(ipAt(this.#cidr, at)!);
      if (!taken.has(ip)) return ip;
    }
    return undefined;
  }
}
