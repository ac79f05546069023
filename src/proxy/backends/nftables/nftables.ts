// Applies rules of services to the node's packet filter: what changed, in one transaction, without reading back.
import type { Logger } from '../../../component-base/logger.ts';
import type { PacketFilter } from '../../../os/packet-filter.ts';
import { frontendKey, type ServiceRules } from '../../rule-set.ts';
import { type Fragment, type FragmentContext, fragmentOf } from './fragment.ts';
import { diffElements, type ElementChange, renderChange, renderTable } from './render.ts';

export interface NftablesBackend {
  /** Undefined: the service is gone. The next `sync` applies it. */
  set(service: string, rules: ServiceRules | undefined): void;
  /** Applies what was set since; after an error the whole table is written anew. Returns true when it was. */
  sync(): Promise<boolean>;
  /** The next sync writes the whole table. */
  invalidate(): void;
}

/** One service holds a frontend; others that want it wait until it is free. */
class FrontendOwners {
  readonly #owners = new Map<string, string>();
  readonly #waiting = new Map<string, Set<string>>();

  /** The rules without frontends that another service holds. */
  claim(rules: ServiceRules): ServiceRules {
    const frontends = rules.frontends.filter((frontend) => {
      const key = frontendKey(frontend);
      const owner = this.#owners.get(key) ?? rules.service;
      if (owner !== rules.service) {
        this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(rules.service));
        return false;
      }
      this.#owners.set(key, owner);
      return true;
    });
    return frontends.length === rules.frontends.length ? rules : { ...rules, frontends };
  }

  /** Services that may have what `service` gave up. */
  release(service: string, old: ServiceRules | undefined, now: ServiceRules | undefined): string[] {
    const kept = new Set(now?.frontends.map(frontendKey));
    const freed: string[] = [];
    for (const key of (old?.frontends ?? []).map(frontendKey)) {
      if (kept.has(key) || this.#owners.get(key) !== service) continue;
      this.#owners.delete(key);
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      freed.push(...(waiting ?? []));
    }
    return freed;
  }
}

class Backend implements NftablesBackend {
  readonly #packetFilter: PacketFilter;
  readonly #clusterCIDR: string;
  readonly #log: Logger;
  readonly #wanted = new Map<string, ServiceRules>();
  readonly #fragments = new Map<string, Fragment>();
  readonly #dirty = new Set<string>();
  readonly #owners = new FrontendOwners();
  readonly #hairpins = new Map<string, number>();
  readonly #sharedChains = new Set<string>();
  /** Of services by the names of their ports. */
  readonly #affinityIds = new Map<string, Map<string, number>>();
  readonly #context: FragmentContext;
  #nextId = 1;
  #whole = true;

  constructor(packetFilter: PacketFilter, clusterCIDR: string, log: Logger) {
    this.#log = log;
    this.#packetFilter = packetFilter;
    this.#clusterCIDR = clusterCIDR;
    this.#context = {
      clusterCIDR,
      affinityId: (service, portName) => {
        const ids = this.#affinityIds.get(service) ?? new Map<string, number>();
        const id = ids.get(portName) ?? this.#nextId++;
        this.#affinityIds.set(service, ids.set(portName, id));
        return id;
      },
    };
  }

  set(service: string, rules: ServiceRules | undefined): void {
    const freed = this.#owners.release(service, this.#wanted.get(service), rules);
    if (rules === undefined || rules.frontends.length === 0) this.#wanted.delete(service);
    else this.#wanted.set(service, rules);
    for (const key of [service, ...freed]) this.#dirty.add(key);
  }

  invalidate(): void {
    this.#whole = true;
  }

  async sync(): Promise<boolean> {
    if (this.#whole) {
      await this.#syncWhole();
      return true;
    }
    try {
      await this.#syncChanges();
      return false;
    } catch (error) {
      // the kernel has not what we believe: someone else wrote to our table
      this.#log.warn({ error }, 'a change of service rules was refused; writing all of them anew');
      this.#whole = true;
      await this.#syncWhole();
      return true;
    }
  }

  #fragment(service: string): Fragment | undefined {
    const rules = this.#wanted.get(service);
    if (rules !== undefined) return fragmentOf(this.#owners.claim(rules), this.#context);
    this.#affinityIds.delete(service);
    return undefined;
  }

  async #syncWhole(): Promise<void> {
    this.#dirty.clear();
    this.#fragments.clear();
    this.#hairpins.clear();
    this.#sharedChains.clear();
    for (const service of this.#wanted.keys()) {
      const fragment = this.#fragment(service)!;
      this.#fragments.set(service, fragment);
      for (const name of fragment.sharedChains) this.#sharedChains.add(name);
      for (const key of fragment.elements.get('hairpin')?.keys() ?? [])
        this.#hairpins.set(key, (this.#hairpins.get(key) ?? 0) + 1);
    }
    await this.#packetFilter.apply(renderTable(this.#fragments.values(), this.#clusterCIDR));
    this.#whole = false;
  }

  async #syncChanges(): Promise<void> {
    const services = [...this.#dirty];
    this.#dirty.clear();
    const removals: string[][] = [];
    const additions: string[][] = [];
    for (const service of services) {
      const before = this.#fragments.get(service);
      const after = this.#fragment(service);
      if (after === undefined) this.#fragments.delete(service);
      else this.#fragments.set(service, after);
      const { deleted, added } = diffElements(before, after);
      const elements = {
        deleted: deleted.filter((change) => this.#isLastHairpin(change)),
        added: added.filter((change) => this.#isFirstHairpin(change)),
      };
      const fresh = [...(after?.sharedChains ?? [])].filter((name) => !this.#sharedChains.has(name));
      for (const name of fresh) this.#sharedChains.add(name);
      const lines = renderChange(before, after, elements, fresh, this.#clusterCIDR);
      // what one service gives up, another may take over in the same transaction
      (after === undefined ? removals : additions).push(lines);
    }
    const lines = [...removals, ...additions].flat();
    if (lines.length > 0) await this.#packetFilter.apply(`${lines.join('\n')}\n`);
  }

  /** A pod behind two services is one element of the set. */
  #isFirstHairpin(change: ElementChange): boolean {
    if (change.map !== 'hairpin') return true;
    const count = (this.#hairpins.get(change.key) ?? 0) + 1;
    this.#hairpins.set(change.key, count);
    return count === 1;
  }

  #isLastHairpin(change: ElementChange): boolean {
    if (change.map !== 'hairpin') return true;
    const count = (this.#hairpins.get(change.key) ?? 1) - 1;
    if (count > 0) this.#hairpins.set(change.key, count);
    else this.#hairpins.delete(change.key);
    return count <= 0;
  }
}

export function createNftablesBackend(
  packetFilter: PacketFilter,
  clusterCIDR: string,
  log: Logger,
): NftablesBackend {
  return new Backend(packetFilter, clusterCIDR, log);
}
