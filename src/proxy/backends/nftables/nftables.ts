// Applies rules of services to the node's packet filter: what changed, in one transaction, without reading back.
import type { Steps } from '../../../base/turns.ts';
import type { Logger } from '../../../component-base/logger.ts';
import type { PacketFilter } from '../../../os/packet-filter.ts';
import { Pace } from '../../pace.ts';
import { type Frontend, frontendKey, type ServiceRules } from '../../rule-set.ts';
import { type Fragment, type FragmentContext, fragmentOf, table } from './fragment.ts';
import { renderTable, type SharedParts, TableChange } from './render.ts';
import { listedCounts, missingFrom, wantedCounts } from './table-counts.ts';

export type InSteps = <T>(steps: Steps<T>) => Promise<T>;

export interface NftablesBackend {
  /** Undefined: the service is gone. The next `sync` applies it. */
  set(service: string, rules: ServiceRules | undefined): void;
  /** Applies what was set since; after an error the whole table is written anew. Returns true when it was. */
  sync(): Promise<boolean>;
  /** The next sync writes the whole table. */
  invalidate(): void;
  /** What the kernel has no more of the last sync, in words, and how long the list was; not while another one runs. */
  compare(): Promise<{ readonly missing: string | undefined; readonly bytes: number }>;
}

/** One service holds a frontend; others that want it wait until it is free. */
class FrontendOwners {
  readonly #owners = new Map<string, string>();
  readonly #waiting = new Map<string, Set<string>>();
  /** Of each service, as of its last `release`. */
  readonly #rules = new Map<string, ServiceRules>();

  /** The rules without frontends that another service holds. */
  *claim(rules: ServiceRules): Steps<ServiceRules> {
    const pace = new Pace();
    const frontends: Frontend[] = [];
    for (const frontend of rules.frontends) {
      const key = frontendKey(frontend);
      const owner = this.#owners.get(key) ?? rules.service;
      if (owner === rules.service) {
        this.#owners.set(key, owner);
        frontends.push(frontend);
      } else this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(rules.service));
      if (pace.over()) yield;
    }
    return frontends.length === rules.frontends.length ? rules : { ...rules, frontends };
  }

  /** Services that may have what `service` gave up. */
  *release(service: string, now: ServiceRules | undefined): Steps<Set<string>> {
    const freed = new Set<string>();
    const old = this.#rules.get(service);
    if (now === undefined) this.#rules.delete(service);
    else this.#rules.set(service, now);
    if (old === undefined || old === now) return freed;
    const pace = new Pace();
    const kept = new Set<string>();
    for (const frontend of now?.frontends ?? []) {
      kept.add(frontendKey(frontend));
      if (pace.over()) yield;
    }
    for (const frontend of old.frontends) {
      if (pace.over()) yield;
      const key = frontendKey(frontend);
      if (kept.has(key) || this.#owners.get(key) !== service) continue;
      this.#owners.delete(key);
      for (const waiting of this.#waiting.get(key) ?? []) freed.add(waiting);
      this.#waiting.delete(key);
    }
    return freed;
  }
}

class Backend implements NftablesBackend {
  readonly #packetFilter: PacketFilter;
  readonly #clusterCIDR: string;
  readonly #log: Logger;
  readonly #inSteps: InSteps;
  readonly #wanted = new Map<string, ServiceRules>();
  readonly #fragments = new Map<string, Fragment>();
  readonly #dirty = new Set<string>();
  readonly #owners = new FrontendOwners();
  readonly #shared: SharedParts = { chains: new Set(), hairpins: new Map() };
  /** Of services by the names of their ports. */
  readonly #affinityIds = new Map<string, Map<string, number>>();
  readonly #context: FragmentContext;
  #nextId = 1;
  #whole = true;

  constructor(packetFilter: PacketFilter, clusterCIDR: string, inSteps: InSteps, log: Logger) {
    this.#inSteps = inSteps;
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
    if (rules === undefined || rules.frontends.length === 0) this.#wanted.delete(service);
    else this.#wanted.set(service, rules);
    this.#dirty.add(service);
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

  async compare(): Promise<{ missing: string | undefined; bytes: number }> {
    const text = this.#whole ? undefined : await this.#packetFilter.table(table);
    // without a table there is nothing to compare: that is seen by its name
    if (text === undefined) return { missing: undefined, bytes: 0 };
    const wanted = wantedCounts(this.#fragments.values(), this.#shared, this.#clusterCIDR);
    const missing = missingFrom(await this.#inSteps(wanted), await this.#inSteps(listedCounts(text)));
    return { missing, bytes: text.length };
  }

  async #syncWhole(): Promise<void> {
    await this.#packetFilter.apply(await this.#inSteps(this.#wholeText()));
    this.#whole = false;
  }

  async #syncChanges(): Promise<void> {
    const text = await this.#inSteps(this.#changeText());
    if (text !== '') await this.#packetFilter.apply(text);
  }

  /** Those that were set since, and those that may have what these gave up. */
  *#takeDirty(): Steps<string[]> {
    for (const service of this.#dirty)
      for (const freed of yield* this.#owners.release(service, this.#wanted.get(service)))
        this.#dirty.add(freed);
    const services = [...this.#dirty];
    this.#dirty.clear();
    return services;
  }

  *#fragment(service: string): Steps<Fragment | undefined> {
    const rules = this.#wanted.get(service);
    if (rules !== undefined) return yield* fragmentOf(yield* this.#owners.claim(rules), this.#context);
    this.#affinityIds.delete(service);
    return undefined;
  }

  *#wholeText(): Steps<string> {
    for (const service of yield* this.#takeDirty())
      if (!this.#wanted.has(service)) this.#affinityIds.delete(service);
    this.#fragments.clear();
    const { chains, hairpins } = this.#shared;
    chains.clear();
    hairpins.clear();
    for (const service of this.#wanted.keys()) {
      const fragment = (yield* this.#fragment(service))!;
      this.#fragments.set(service, fragment);
      for (const name of fragment.sharedChains) chains.add(name);
      for (const key of fragment.elements.get('hairpin')?.keys() ?? [])
        hairpins.set(key, (hairpins.get(key) ?? 0) + 1);
      yield;
    }
    return yield* renderTable(this.#fragments.values(), this.#clusterCIDR);
  }

  *#changeText(): Steps<string> {
    const change = new TableChange(this.#shared, this.#clusterCIDR);
    for (const service of yield* this.#takeDirty()) {
      const before = this.#fragments.get(service);
      const after = yield* this.#fragment(service);
      if (after === undefined) this.#fragments.delete(service);
      else this.#fragments.set(service, after);
      yield* change.replace(before, after);
    }
    return yield* change.text();
  }
}

/** `inSteps` does the work that is long with pauses; until it is done, nobody but `set` and `invalidate` is called. */
export function createNftablesBackend(
  packetFilter: PacketFilter,
  clusterCIDR: string,
  inSteps: InSteps,
  log: Logger,
): NftablesBackend {
  return new Backend(packetFilter, clusterCIDR, inSteps, log);
}
